// Softplus: y = log(1 + e^x).   SoftplusForward {x, y}   SoftplusBackward {x, dy, dx}: the slope is the sigmoid of x
#include "compiler/ops/activation.h"

namespace plimsoll {

const Op op_Softplus{.name = "Softplus",
                     .infer = infer_same,
                     .forward = [](TaskBuilder& build) { forward_activation(build, {}, 20); },
                     .backward = [](TaskBuilder& build) { backward_activation(build, Remembers::input, {}, 10); },
                     .layout = LayoutRule::elementwise,
                     .precision = PrecisionRule::single,
                     .samples = [] { return activation_samples(-3, 3); }};

}  // namespace plimsoll
