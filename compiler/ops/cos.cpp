// Cos: y = cos(x).   CosForward {x, y}   CosBackward {x, dy, dx}: dx = -dy · sin(x)
#include "compiler/ops/activation.h"

namespace plimsoll {

const Op op_Cos{.name = "Cos",
                .first_opset = 7,
                .infer = infer_same,
                .forward = [](TaskBuilder& build) { forward_activation(build, {}, 20); },
                .backward = [](TaskBuilder& build) { backward_activation(build, Remembers::input, {}, 20); },
                .layout = LayoutRule::elementwise,
                .samples = [] { return activation_samples(-4, 4); }};

}  // namespace plimsoll
