// MomentumUpdate {w, g, v}: torch.optim.SGD with momentum and no dampening. v starts at zero, which makes the first
// step PyTorch's (v = g).
#include "runtime/host/flat_kernel.h"
#include "runtime/kernels.h"

namespace plimsoll {

std::vector<Algorithm> MomentumUpdate::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> MomentumUpdate::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                             std::string_view) {
  const int64_t n = operands[0].tensor.padded_elements();
  const bool clear = operands[1].access == Access::update, nesterov = attrs.nesterov;
  const float decay = static_cast<float>(attrs.weight_decay), momentum = static_cast<float>(attrs.momentum);
  return host::flat_kernel([=](const RunContext& context, std::byte* const* operand) {
    const float rate = static_cast<float>(context.learning_rate);
    float* w = host::out(operand, 0);
    float* g = host::out(operand, 1);
    float* v = host::out(operand, 2);
    host::for_elements(n, [=](int64_t i) {
      const float step = g[i] + decay * w[i];
      v[i] = momentum * v[i] + step;
      w[i] -= rate * (nesterov ? step + momentum * v[i] : v[i]);
    });
    if (clear) host::for_elements(n, [=](int64_t i) { g[i] = 0; });
  });
}

}  // namespace plimsoll
