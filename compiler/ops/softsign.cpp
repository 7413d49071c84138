// Softsign: y = x / (1 + |x|).   SoftsignForward {x, y}   SoftsignBackward {x, dy, dx}: dx = dy / (1 + |x|)²
// The backward reads x: the slope computed from the output, (1 - |y|)², loses precision for large |x|.
#include "compiler/ops/activation.h"

namespace plimsoll {

const Op op_Softsign{.name = "Softsign",
                     .infer = infer_same,
                     .forward = [](TaskBuilder& build) { forward_activation(build, {}, 3); },
                     .backward = [](TaskBuilder& build) { backward_activation(build, Remembers::input, {}, 5); },
                     .layout = LayoutRule::elementwise,
                     .samples = [] { return activation_samples(-3, 3); }};

}  // namespace plimsoll
