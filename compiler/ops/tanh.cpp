// Tanh.   TanhForward {x, y}   TanhBackward {y, dy, dx}: dx = dy · (1 - y²)
#include "compiler/ops/activation.h"

namespace plimsoll {
namespace tanh {

void forward(TaskBuilder& build) { forward_activation(build, {}, 10); }

void backward(TaskBuilder& build) { backward_activation(build, Remembers::output, {}, 3); }

}  // namespace tanh

const Op op_Tanh{.name = "Tanh",
                 .first_opset = 6,
                 .infer = infer_same,
                 .forward = tanh::forward,
                 .backward = tanh::backward,
                 .layout = LayoutRule::elementwise,
                 .samples = [] { return activation_samples(-2, 2); }};

}  // namespace plimsoll
