// Reorder {x, y}: the same elements, lying otherwise. On this backend tensors are plain, so there is nothing to reorder.
#include "runtime/cuda/plain.h"
#include "runtime/kernels.h"

namespace plimsoll {

std::vector<Algorithm> Reorder::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  cuda::need_plain(operands);
  throw KernelError("Reorder of a plain tensor to a plain one");
}

std::unique_ptr<Kernel> Reorder::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  algorithms(attrs, operands);
  return nullptr;
}

}  // namespace plimsoll
