#include "runtime/cuda/cudnn/execution.h"

#include <algorithm>

#include "runtime/cuda/cudnn/device.h"

namespace plimsoll::cudnn {

Execution::Execution(Graph graph, const std::string& engine) : graph_(std::move(graph)), plan_(graph_, engine) {
  if (!device_is_described()) handle();  // the library allocates its device memory now, not in the first step
}

const Descriptor& Execution::bound_to(std::span<const Address> addresses, std::byte* workspace) {
  for (const Bound& bound : bound_)
    if (bound.workspace == workspace && std::ranges::equal(bound.addresses, addresses)) return bound.pack;
  std::vector<int64_t> uids;
  std::vector<void*> pointers;
  const auto bind = [&](int64_t uid, void* at) {
    uids.push_back(uid);
    pointers.push_back(at);
  };
  for (const int64_t uid : graph_.tensors()) {
    const auto of = [&](const Address& address) { return address.uid == uid; };
    const auto found = std::ranges::find_if(addresses, of);
    if (found == addresses.end()) throw KernelError("a graph of cuDNN lacks the address of a tensor");
    bind(uid, found->at);
  }
  for (const auto& number : graph_.numbers()) bind(number->uid, &number->value);
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, uids)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers)
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, static_cast<void*>(workspace))
      .finalize("the addresses of a graph");
  return bound_.emplace_back(Bound{{addresses.begin(), addresses.end()}, workspace, std::move(pack)}).pack;
}

void Execution::run(void* stream, std::span<const Address> addresses, std::byte* workspace) {
  check(cudnnSetStream(handle(), static_cast<cudaStream_t>(stream)), "cannot use a stream");
  check(cudnnBackendExecute(handle(), plan_.descriptor().raw(), bound_to(addresses, workspace).raw()),
        "a graph of cuDNN failed");
}

}  // namespace plimsoll::cudnn
