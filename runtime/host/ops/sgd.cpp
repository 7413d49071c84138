// SgdUpdate {w, g}: w -= lr * (g + decay * w), as torch.optim.SGD without momentum.
#include "runtime/host/flat_kernel.h"
#include "runtime/kernels.h"

namespace plimsoll {

std::vector<Algorithm> SgdUpdate::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> SgdUpdate::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const int64_t n = operands[0].tensor.padded_elements();
  const bool clear = operands[1].access == Access::update;
  const float decay = static_cast<float>(attrs.weight_decay);
  return host::flat_kernel([=](const RunContext& context, std::byte* const* operand) {
    const float rate = static_cast<float>(context.learning_rate);
    float* w = host::out(operand, 0);
    float* g = host::out(operand, 1);
    host::for_elements(n, [=](int64_t i) { w[i] -= rate * (g[i] + decay * w[i]); });
    if (clear) host::for_elements(n, [=](int64_t i) { g[i] = 0; });
  });
}

}  // namespace plimsoll
