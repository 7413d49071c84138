// AdamUpdate {w, g, m, v, low?, factor?}: torch.optim.Adam, or AdamW if decoupled. The step count is that of the
// iterations that were not skipped; m and v are initially zero.
#include <cmath>

#include "runtime/host/update.h"
#include "runtime/kernels.h"
#include "runtime/update_numbers.h"

namespace plimsoll {

std::vector<Algorithm> AdamUpdate::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> AdamUpdate::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return host::update_kernel<2>(operands, [=](const RunContext& context) {
    const AdamAttrs now = with_numbers(attrs, context.numbers);
    // Scalars are double, as in Python; elements are float.
    const double step = static_cast<double>(context.iteration - context.skipped + 1),
                 rate = context.learning_rate * rate_scale_of(context);
    const double seen1 = 1 - std::pow(now.beta1, step), seen2 = 1 - std::pow(now.beta2, step);
    const float step_size = static_cast<float>(rate / seen1), root = static_cast<float>(std::sqrt(seen2));
    const float beta1 = static_cast<float>(now.beta1), rest1 = static_cast<float>(1 - now.beta1);
    const float beta2 = static_cast<float>(now.beta2), rest2 = static_cast<float>(1 - now.beta2);
    const float epsilon = static_cast<float>(now.epsilon);
    const float decay = now.decoupled ? 0 : static_cast<float>(now.weight_decay);
    const float shrink = now.decoupled ? static_cast<float>(1 - rate * now.weight_decay) : 1;
    return [=](float& w, float g, float& m, float& v) {
      const float gradient = g + decay * w;
      m = beta1 * m + rest1 * gradient;
      v = beta2 * v + rest2 * gradient * gradient;
      w = shrink * w - step_size * m / (std::sqrt(v) / root + epsilon);
    };
  });
}

}  // namespace plimsoll
