// Round: y is the nearest integer, ties to even.   RoundForward {x, y}. The gradient is zero.
#include "compiler/ops/activation.h"

namespace plimsoll {

const Op op_Round{.name = "Round",
                  .first_opset = 11,
                  .infer = infer_same,
                  .forward = [](TaskBuilder& build) { forward_activation(build, {}, 1); },
                  .backward = zero_gradient,
                  .layout = LayoutRule::elementwise,
                  .samples = [] { return activation_samples(-3, 3); }};

}  // namespace plimsoll
