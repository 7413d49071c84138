// Kernels that do the same work on different tensors: if their steps are consecutive and nothing waits in between, they
// are launched as one (runtime/cuda/streams.cpp). The results are bit-identical to separate launches.
#pragma once

#include <span>

#include "runtime/kernel.h"

namespace plimsoll::cuda {

class Combinable {
 public:
  virtual ~Combinable() = default;

  struct Member {
    const Kernel* kernel;
    std::byte* const* operands;
  };
  // Whether the other kernel does the same work as this one.
  virtual bool combines_with(const Kernel& other) const = 0;
  // All members satisfy combines_with() this one. None reads what another writes.
  virtual void run_combined(const RunContext& context, std::span<const Member> members) const = 0;
};

}  // namespace plimsoll::cuda
