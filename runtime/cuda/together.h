// Kernels that do the same to other tensors: where their steps follow each other and nobody waits between, they are launched
// as one (runtime/cuda/streams.cpp). The results are the bits of one launch for each.
#pragma once

#include <span>

#include "runtime/kernel.h"

namespace plimsoll::cuda {

class Together {
 public:
  virtual ~Together() = default;

  struct Member {
    const Kernel* kernel;
    std::byte* const* operands;
  };
  // Whether the other does the same as this.
  virtual bool goes_with(const Kernel& other) const = 0;
  // All of them go with this one. None reads what another writes.
  virtual void run_together(const RunContext& context, std::span<const Member> members) const = 0;
};

}  // namespace plimsoll::cuda
