// BinaryAdd {a, b, y}: all of one shape and layout.
#include "runtime/host/flat_kernel.h"
#include "runtime/kernels.h"

namespace plimsoll {

std::vector<Algorithm> BinaryAdd::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  if (operands[0].tensor != operands[2].tensor || operands[1].tensor != operands[2].tensor)
    throw KernelError("BinaryAdd: operands differ in shape or layout");
  return {{}};
}

std::unique_ptr<Kernel> BinaryAdd::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  algorithms(attrs, operands);
  const int64_t n = operands[2].tensor.padded_elements();
  return host::flat_kernel([n](const RunContext&, std::byte* const* operand) {
    const float* a = host::in(operand, 0);
    const float* b = host::in(operand, 1);
    float* y = host::out(operand, 2);
    host::for_elements(n, [=](int64_t i) { y[i] = a[i] + b[i]; });
  });
}

}  // namespace plimsoll
