// A cuDNN plan, run on the addresses that the memory plan assigns.
#pragma once

#include "runtime/cuda/cudnn/engines.h"

namespace plimsoll::cudnn {

class Execution {
 public:
  // Throws KernelError if the engine cannot be built for the graph.
  Execution(Graph graph, const std::string& engine);

  int64_t workspace_bytes() const { return plan_.workspace_bytes(); }
  bool tf32() const { return plan_.tf32(); }

  struct Address {
    int64_t uid = 0;
    void* at = nullptr;
    friend bool operator==(const Address&, const Address&) = default;
  };
  // Enqueues the plan. `addresses`: of the graph's tensors. The first run on a set of addresses creates a descriptor
  // for them; later runs do not allocate.
  void run(void* stream, std::span<const Address> addresses, std::byte* workspace);

 private:
  struct Bound {
    std::vector<Address> addresses;
    std::byte* workspace = nullptr;
    Descriptor pack;
  };
  const Descriptor& bound_to(std::span<const Address> addresses, std::byte* workspace);

  Graph graph_;
  Plan plan_;
  std::vector<Bound> bound_;  // one for each step of the program that runs the kernel
};

}  // namespace plimsoll::cudnn
