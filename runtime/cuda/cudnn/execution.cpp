#include "runtime/cuda/cudnn/execution.h"

#include "runtime/cuda/cudnn/device.h"

namespace plimsoll::cudnn {

Execution::Execution(const Convolution& convolution, const std::string& engine)
    : graph_(convolution), plan_(graph_, engine) {
  if (!device_is_described()) handle();  // the library allocates its device memory now, not in the first step
}

const Descriptor& Execution::bound_to(const Addresses& addresses) {
  for (const Bound& bound : bound_)
    if (bound.addresses == addresses) return bound.pack;
  std::vector<int64_t> uids;
  std::vector<void*> pointers;
  for (const Uid uid : graph_.tensors()) {
    uids.push_back(static_cast<int64_t>(uid));
    pointers.push_back(uid == Uid::x   ? addresses.x
                       : uid == Uid::w ? addresses.w
                       : uid == Uid::y ? addresses.y
                                       : addresses.b);
  }
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, uids)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers)
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, static_cast<void*>(addresses.workspace))
      .finalize("the addresses of a convolution");
  return bound_.emplace_back(Bound{addresses, std::move(pack)}).pack;
}

void Execution::run(void* stream, const Addresses& addresses) {
  check(cudnnSetStream(handle(), static_cast<cudaStream_t>(stream)), "cannot use a stream");
  check(cudnnBackendExecute(handle(), plan_.descriptor().raw(), bound_to(addresses).raw()), "a convolution failed");
}

}  // namespace plimsoll::cudnn
