// SgdUpdate {w, g, factor?}: w -= lr * (g + decay * w), as torch.optim.SGD without momentum.
#include "runtime/host/update.h"
#include "runtime/kernels.h"

namespace plimsoll {

std::vector<Algorithm> SgdUpdate::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> SgdUpdate::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const float decay = static_cast<float>(attrs.weight_decay);
  return host::update_kernel(operands, 0, [=](const RunContext& context, std::byte* const* operand) {
    const float rate = static_cast<float>(context.learning_rate);
    float* w = host::out(operand, 0);
    return [=](int64_t i, float g) { w[i] -= rate * (g + decay * w[i]); };
  });
}

}  // namespace plimsoll
