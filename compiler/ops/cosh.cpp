// Cosh: y = cosh(x).   CoshForward {x, y}   CoshBackward {x, dy, dx}: dx = dy · sinh(x)
#include <cmath>

#include "compiler/ops/activation.h"
#include "compiler/ops/evaluate_elements.h"

namespace plimsoll {

const Op op_Cosh{.name = "Cosh",
                 .first_opset = 9,
                 .evaluate = [](const KnownCall& call) {
                   return evaluate_unary(call.inputs, {.reals = [](double a) { return std::cosh(a); }});
                 },
                 .infer = infer_same,
                 .forward = [](TaskBuilder& build) { forward_activation(build, {}, 20); },
                 .backward = [](TaskBuilder& build) { backward_activation(build, Remembers::input, {}, 20); },
                 .layout = LayoutRule::elementwise,
                 .precision = PrecisionRule::single,
                 .samples = [] { return activation_samples(-3, 3); }};

}  // namespace plimsoll
