// SgdUpdate {w, g, factor?}: w -= lr * (g + decay * w), as torch.optim.SGD without momentum.
#include "runtime/host/update.h"
#include "runtime/kernels.h"
#include "runtime/update_numbers.h"

namespace plimsoll {

std::vector<Algorithm> SgdUpdate::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> SgdUpdate::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return host::update_kernel(operands, 0, [=](const RunContext& context, std::byte* const* operand) {
    const float decay = static_cast<float>(with_numbers(attrs, context.numbers).weight_decay);
    const float rate = static_cast<float>(context.learning_rate * rate_scale_of(context));
    float* w = host::out(operand, 0);
    return [=](int64_t i, float g) { w[i] -= rate * (g + decay * w[i]); };
  });
}

}  // namespace plimsoll
