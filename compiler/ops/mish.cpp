// Mish: y = x · tanh(log(1 + e^x)).   MishForward {x, y}   MishBackward {x, dy, dx}
// Not monotonic: the slope cannot be computed from the output, so the backward reads the input.
#include "compiler/ops/activation.h"

namespace plimsoll {

const Op op_Mish{.name = "Mish",
                 .first_opset = 18,
                 .infer = infer_same,
                 .forward = [](TaskBuilder& build) { forward_activation(build, {}, 20); },
                 .backward = [](TaskBuilder& build) { backward_activation(build, Remembers::input, {}, 25); },
                 .layout = LayoutRule::elementwise,
                 .samples = [] { return activation_samples(-4, 4); }};

}  // namespace plimsoll
