// Ceil: y is the smallest integer that is at least x.   CeilForward {x, y}. The gradient is zero.
#include <cmath>

#include "compiler/ops/activation.h"
#include "compiler/ops/evaluate_elements.h"

namespace plimsoll {

const Op op_Ceil{.name = "Ceil",
                 .first_opset = 6,
                 .evaluate = [](const KnownCall& call) {
                   return evaluate_unary(call.inputs, {.reals = [](double a) { return std::ceil(a); }});
                 },
                 .infer = infer_same,
                 .forward = [](TaskBuilder& build) { forward_activation(build, {}, 1); },
                 .backward = zero_gradient,
                 .layout = LayoutRule::elementwise,
                 .samples = [] { return activation_samples(-3, 3); }};

}  // namespace plimsoll
