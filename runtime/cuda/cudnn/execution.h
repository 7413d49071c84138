// A cuDNN plan, run on the addresses that the memory plan assigns.
#pragma once

#include <array>

#include "runtime/cuda/cudnn/engines.h"

namespace plimsoll::cudnn {

class Execution {
 public:
  // Throws KernelError if the engine cannot be built for the convolution.
  Execution(const Convolution& convolution, const std::string& engine);

  int64_t workspace_bytes() const { return plan_.workspace_bytes(); }
  bool tf32() const { return plan_.tf32(); }

  // The addresses of the graph's tensors; nullptr for tensors that it does not have.
  struct Addresses {
    std::byte *x = nullptr, *w = nullptr, *y = nullptr, *b = nullptr, *workspace = nullptr;
    friend bool operator==(const Addresses&, const Addresses&) = default;
  };
  // Enqueues the plan. The first run on a set of addresses creates a descriptor for them; later runs do not allocate.
  void run(void* stream, const Addresses& addresses);

 private:
  struct Bound {
    Addresses addresses;
    Descriptor pack;
  };
  const Descriptor& bound_to(const Addresses& addresses);

  Graph graph_;
  Plan plan_;
  std::vector<Bound> bound_;  // one for each step of the program that runs the kernel
};

}  // namespace plimsoll::cudnn
