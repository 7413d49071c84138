// Sqrt: y = √x.   SqrtForward {x, y}   SqrtBackward {y, dy, dx}: dx = dy / 2y, and 0 where y is 0
#include <cmath>

#include "compiler/ops/activation.h"
#include "compiler/ops/evaluate_elements.h"

namespace plimsoll {

const Op op_Sqrt{.name = "Sqrt",
                 .first_opset = 6,
                 .evaluate = [](const KnownCall& call) {
                   return evaluate_unary(call.inputs, {.reals = [](double a) { return std::sqrt(a); }});
                 },
                 .infer = infer_same,
                 .forward = [](TaskBuilder& build) { forward_activation(build, {}, 4); },
                 .backward = [](TaskBuilder& build) { backward_activation(build, Remembers::output, {}, 4); },
                 .layout = LayoutRule::elementwise,
                 .samples = [] { return activation_samples(0.5, 2); }};

}  // namespace plimsoll
