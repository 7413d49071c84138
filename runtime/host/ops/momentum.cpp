// MomentumUpdate {w, g, v, low?, factor?}: torch.optim.SGD with momentum and without dampening. v is initially zero, so
// the first step equals PyTorch's (v = g).
#include "runtime/host/update.h"
#include "runtime/kernels.h"
#include "runtime/update_numbers.h"

namespace plimsoll {

std::vector<Algorithm> MomentumUpdate::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> MomentumUpdate::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                             std::string_view) {
  return host::update_kernel<1>(operands, [=](const RunContext& context) {
    const MomentumAttrs now = with_numbers(attrs, context.numbers);
    const bool nesterov = now.nesterov;
    const float decay = static_cast<float>(now.weight_decay), momentum = static_cast<float>(now.momentum);
    const float rate = static_cast<float>(context.learning_rate * rate_scale_of(context));
    return [=](float& w, float g, float& v, float&) {
      const float step = g + decay * w;
      v = momentum * v + step;
      w -= rate * (nesterov ? step + momentum * v : v);
    };
  });
}

}  // namespace plimsoll
