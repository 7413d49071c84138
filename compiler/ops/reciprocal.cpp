// Reciprocal: y = 1 / x.   ReciprocalForward {x, y}   ReciprocalBackward {y, dy, dx}: dx = -dy · y²
#include "compiler/ops/activation.h"

namespace plimsoll {

const Op op_Reciprocal{.name = "Reciprocal",
                       .first_opset = 6,
                       .infer = infer_same,
                       .forward = [](TaskBuilder& build) { forward_activation(build, {}, 2); },
                       .backward = [](TaskBuilder& build) { backward_activation(build, Remembers::output, {}, 3); },
                       .layout = LayoutRule::elementwise,
                       .samples = [] { return activation_samples(0.5, 2); }};

}  // namespace plimsoll
