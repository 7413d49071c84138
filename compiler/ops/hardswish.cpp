// HardSwish: y = x · clip(x / 6 + 1 / 2, 0, 1).   HardSwishForward {x, y}   HardSwishBackward {x, dy, dx}
// Not monotonic: the slope cannot be computed from the output, so the backward reads the input.
#include "compiler/ops/activation.h"

namespace plimsoll {
namespace hardswish {

void forward(TaskBuilder& build) { forward_activation(build, {}, 4); }

void backward(TaskBuilder& build) { backward_activation(build, Remembers::input, {}, 6); }

}  // namespace hardswish

const Op op_HardSwish{.name = "HardSwish",
                      .first_opset = 14,
                      .infer = infer_same,
                      .forward = hardswish::forward,
                      .backward = hardswish::backward,
                      .layout = LayoutRule::elementwise,
                      .samples = [] { return activation_samples(-5, 5); }};

}  // namespace plimsoll
