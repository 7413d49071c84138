// Log: y = ln x.   LogForward {x, y}   BinaryDiv {dy, x, dx}
#include "compiler/ops/activation.h"

namespace plimsoll {
namespace log {

void backward(TaskBuilder& build) { backward_by(build, "BinaryDiv", build.read_gradient(0), build.read_input(0)); }

}  // namespace log

const Op op_Log{.name = "Log",
                .first_opset = 6,
                .infer = infer_same,
                .forward = [](TaskBuilder& build) { forward_activation(build, {}, 10); },
                .backward = log::backward,
                .layout = LayoutRule::elementwise,
                .samples = [] { return activation_samples(0.5, 2); }};

}  // namespace plimsoll
