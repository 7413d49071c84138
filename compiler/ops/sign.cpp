// Sign: y = -1, 0 or 1.   SignForward {x, y}. The gradient is zero.
#include "compiler/ops/activation.h"

namespace plimsoll {

const Op op_Sign{.name = "Sign",
                 .first_opset = 9,
                 .infer = infer_same,
                 .forward = [](TaskBuilder& build) { forward_activation(build, {}, 2); },
                 .backward = zero_gradient,
                 .layout = LayoutRule::elementwise,
                 .samples = [] { return activation_samples(-1, 1); }};

}  // namespace plimsoll
