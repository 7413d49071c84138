// LionUpdate {w, g, m, low?, factor?}: Chen et al. 2023, as in timm.optim.Lion. m is initially zero.
#include "runtime/host/update.h"
#include "runtime/kernels.h"
#include "runtime/update_numbers.h"

namespace plimsoll {

std::vector<Algorithm> LionUpdate::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> LionUpdate::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return host::update_kernel<1>(operands, [=](const RunContext& context) {
    const LionAttrs now = with_numbers(attrs, context.numbers);
    const double rate = context.learning_rate * rate_scale_of(context);
    const float beta1 = static_cast<float>(now.beta1), rest1 = static_cast<float>(1 - now.beta1);
    const float beta2 = static_cast<float>(now.beta2), rest2 = static_cast<float>(1 - now.beta2);
    const float shrink = static_cast<float>(1 - rate * now.weight_decay), step = static_cast<float>(rate);
    return [=](float& w, float g, float& m, float&) {
      const float u = beta1 * m + rest1 * g;
      w = shrink * w - (u > 0 ? step : u < 0 ? -step : 0 * u);  // NaN is preserved
      m = beta2 * m + rest2 * g;
    };
  });
}

}  // namespace plimsoll
