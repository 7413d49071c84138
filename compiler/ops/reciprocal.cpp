// Reciprocal: y = 1 / x.   ReciprocalForward {x, y}   ReciprocalBackward {y, dy, dx}: dx = -dy · y²
#include "compiler/ops/activation.h"
#include "compiler/ops/evaluate_elements.h"

namespace plimsoll {

const Op op_Reciprocal{.name = "Reciprocal",
                       .first_opset = 6,
                       .evaluate = [](const KnownCall& call) {
                         return evaluate_unary(call.inputs, {.reals = [](double a) { return 1 / a; }});
                       },
                       .infer = infer_same,
                       .forward = [](TaskBuilder& build) { forward_activation(build, {}, 2); },
                       .backward = [](TaskBuilder& build) { backward_activation(build, Remembers::output, {}, 3); },
                       .layout = LayoutRule::elementwise,
                       .precision = PrecisionRule::single,
                       .samples = [] { return activation_samples(0.5, 2); }};

}  // namespace plimsoll
