// Acos: y = arccos(x).   AcosForward {x, y}   AcosBackward {x, dy, dx}: dx = -dy / √(1 - x²)
#include <cmath>

#include "compiler/ops/activation.h"
#include "compiler/ops/evaluate_elements.h"

namespace plimsoll {

const Op op_Acos{.name = "Acos",
                 .first_opset = 7,
                 .evaluate = [](const KnownCall& call) {
                   return evaluate_unary(call.inputs, {.reals = [](double a) { return std::acos(a); }});
                 },
                 .infer = infer_same,
                 .forward = [](TaskBuilder& build) { forward_activation(build, {}, 20); },
                 .backward = [](TaskBuilder& build) { backward_activation(build, Remembers::input, {}, 20); },
                 .layout = LayoutRule::elementwise,
                 .precision = PrecisionRule::single,
                 .samples = [] { return activation_samples(-0.9, 0.9); }};

}  // namespace plimsoll
