// Erf: y = erf(x), the error function.   ErfForward {x, y}   ErfBackward {x, dy, dx}: dx = dy · 2/√π · e^(-x²)
#include "compiler/ops/activation.h"

namespace plimsoll {

const Op op_Erf{.name = "Erf",
                .first_opset = 9,
                .infer = infer_same,
                .forward = [](TaskBuilder& build) { forward_activation(build, {}, 20); },
                .backward = [](TaskBuilder& build) { backward_activation(build, Remembers::input, {}, 12); },
                .layout = LayoutRule::elementwise,
                .samples = [] { return activation_samples(-2, 2); }};

}  // namespace plimsoll
