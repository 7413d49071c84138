// LogSigmoid: y = log(1 / (1 + e^-x)).   LogSigmoidForward {x, y}   LogSigmoidBackward {x, dy, dx}: the slope is the
// sigmoid of -x. Not of ONNX: exporters write Log of Sigmoid, whose result is minus infinity below x = -104, because
// the sigmoid is 0 there.
#include "compiler/ops/activation.h"

namespace plimsoll {

const Op op_LogSigmoid{.name = "LogSigmoid",
                       .last_opset = 0,
                       .infer = infer_same,
                       .forward = [](TaskBuilder& build) { forward_activation(build, {}, 20); },
                       .backward = [](TaskBuilder& build) { backward_activation(build, Remembers::input, {}, 10); },
                       .layout = LayoutRule::elementwise,
                       .precision = PrecisionRule::single,
                       .samples = [] { return activation_samples(-3, 3); }};

}  // namespace plimsoll
