// MatMul {a, b, c, y}
#include "runtime/kernels.h"

namespace plimsoll {

std::vector<Algorithm> MatMul::algorithms(const Attrs&, std::span<const OperandDesc>) {
  throw KernelError("matrix products have no CUDA kernel in this version; compile with --target host");
}
std::unique_ptr<Kernel> MatMul::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  algorithms(attrs, operands);
  return nullptr;
}

}  // namespace plimsoll
