// Sigmoid: y = 1 / (1 + e^-x).   SigmoidForward {x, y}   SigmoidBackward {y, dy, dx}: dx = dy · y · (1 - y)
#include "compiler/ops/activation.h"

namespace plimsoll {
namespace sigmoid {

void forward(TaskBuilder& build) { forward_activation(build, {}, 8); }

void backward(TaskBuilder& build) { backward_activation(build, Remembers::output, {}, 3); }

}  // namespace sigmoid

const Op op_Sigmoid{.name = "Sigmoid",
                    .first_opset = 6,
                    .infer = infer_same,
                    .forward = sigmoid::forward,
                    .backward = sigmoid::backward,
                    .layout = LayoutRule::elementwise,
                    .samples = [] { return activation_samples(-3, 3); }};

}  // namespace plimsoll
