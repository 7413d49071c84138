// ReluForward {x, y}   ReluBackward {y, dy, dx}
#include "runtime/host/flat_kernel.h"
#include "runtime/kernels.h"

namespace plimsoll {

std::vector<Algorithm> ReluForward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> ReluForward::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  const int64_t n = operands[0].tensor.padded_elements();
  return host::flat_kernel([n](const RunContext&, std::byte* const* operand) {
    const float* x = host::in(operand, 0);
    float* y = host::out(operand, 1);
    host::for_elements(n, [=](int64_t i) { y[i] = x[i] > 0 ? x[i] : 0; });
  });
}

std::vector<Algorithm> ReluBackward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> ReluBackward::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  const int64_t n = operands[0].tensor.padded_elements();
  return host::flat_kernel([n](const RunContext&, std::byte* const* operand) {
    const float* y = host::in(operand, 0);
    const float* dy = host::in(operand, 1);
    float* dx = host::out(operand, 2);
    host::for_elements(n, [=](int64_t i) { dx[i] = y[i] > 0 ? dy[i] : 0; });
  });
}

}  // namespace plimsoll
