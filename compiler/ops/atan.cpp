// Atan: y = arctan(x).   AtanForward {x, y}   AtanBackward {x, dy, dx}: dx = dy / (1 + x²)
#include "compiler/ops/activation.h"

namespace plimsoll {

const Op op_Atan{.name = "Atan",
                 .first_opset = 7,
                 .infer = infer_same,
                 .forward = [](TaskBuilder& build) { forward_activation(build, {}, 20); },
                 .backward = [](TaskBuilder& build) { backward_activation(build, Remembers::input, {}, 4); },
                 .layout = LayoutRule::elementwise,
                 .samples = [] { return activation_samples(-3, 3); }};

}  // namespace plimsoll
