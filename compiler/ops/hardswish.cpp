// HardSwish: y = x · clip(x / 6 + 1 / 2, 0, 1).   HardSwishForward {x, y}   HardSwishBackward {x, dy, dx}
// Not monotonic: the slope cannot be computed from the output, so the backward reads the input.
#include "compiler/ops/activation.h"
#include "compiler/ops/fused_activation.h"

namespace plimsoll {
namespace hardswish {

constexpr ActivationFlops kFlops = flops_of(FusedActivation::hard_swish);

void forward(TaskBuilder& build) { forward_activation(build, {}, kFlops.forward); }

void backward(TaskBuilder& build) { backward_activation(build, Remembers::input, {}, kFlops.backward); }

}  // namespace hardswish

const Op op_HardSwish{.name = "HardSwish",
                      .first_opset = 14,
                      .infer = infer_same,
                      .forward = hardswish::forward,
                      .backward = hardswish::backward,
                      .layout = LayoutRule::elementwise,
                      .samples = [] { return activation_samples(-5, 5); }};

}  // namespace plimsoll
