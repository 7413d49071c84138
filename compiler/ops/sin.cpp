// Sin: y = sin(x).   SinForward {x, y}   SinBackward {x, dy, dx}: dx = dy · cos(x)
#include "compiler/ops/activation.h"

namespace plimsoll {

const Op op_Sin{.name = "Sin",
                .first_opset = 7,
                .infer = infer_same,
                .forward = [](TaskBuilder& build) { forward_activation(build, {}, 20); },
                .backward = [](TaskBuilder& build) { backward_activation(build, Remembers::input, {}, 20); },
                .layout = LayoutRule::elementwise,
                .samples = [] { return activation_samples(-4, 4); }};

}  // namespace plimsoll
