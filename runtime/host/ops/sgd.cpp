// SgdUpdate {w, g, low?, factor?}: w -= lr * (g + decay * w), as torch.optim.SGD without momentum.
#include "runtime/host/update.h"
#include "runtime/kernels.h"
#include "runtime/update_numbers.h"

namespace plimsoll {

std::vector<Algorithm> SgdUpdate::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> SgdUpdate::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return host::update_kernel<0>(operands, [=](const RunContext& context) {
    const float decay = static_cast<float>(with_numbers(attrs, context.numbers).weight_decay);
    const float rate = static_cast<float>(context.learning_rate * rate_scale_of(context));
    return [=](float& w, float g, float&, float&) { w -= rate * (g + decay * w); };
  });
}

}  // namespace plimsoll
