// MomentumUpdate {w, g, v, factor?}: torch.optim.SGD with momentum and without dampening. v is initially zero, so the
// first step equals PyTorch's (v = g).
#include "runtime/host/update.h"
#include "runtime/kernels.h"
#include "runtime/update_numbers.h"

namespace plimsoll {

std::vector<Algorithm> MomentumUpdate::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> MomentumUpdate::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                             std::string_view) {
  return host::update_kernel(operands, 1, [=](const RunContext& context, std::byte* const* operand) {
    const MomentumAttrs now = with_numbers(attrs, context.numbers);
    const bool nesterov = now.nesterov;
    const float decay = static_cast<float>(now.weight_decay), momentum = static_cast<float>(now.momentum);
    const float rate = static_cast<float>(context.learning_rate * rate_scale_of(context));
    float* w = host::out(operand, 0);
    float* v = host::out(operand, 2);
    return [=](int64_t i, float g) {
      const float step = g + decay * w[i];
      v[i] = momentum * v[i] + step;
      w[i] -= rate * (nesterov ? step + momentum * v[i] : v[i]);
    };
  });
}

}  // namespace plimsoll
