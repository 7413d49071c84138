// Sqrt: y = √x.   SqrtForward {x, y}   SqrtBackward {y, dy, dx}: dx = dy / 2y
#include "compiler/ops/activation.h"

namespace plimsoll {

const Op op_Sqrt{.name = "Sqrt",
                 .first_opset = 6,
                 .infer = infer_same,
                 .forward = [](TaskBuilder& build) { forward_activation(build, {}, 4); },
                 .backward = [](TaskBuilder& build) { backward_activation(build, Remembers::output, {}, 4); },
                 .layout = LayoutRule::elementwise,
                 .samples = [] { return activation_samples(0.5, 2); }};

}  // namespace plimsoll
