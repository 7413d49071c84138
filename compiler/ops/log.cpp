// Log: y = ln x.   LogForward {x, y}   BinaryDiv {dy, x, dx}
#include <cmath>

#include "compiler/ops/activation.h"
#include "compiler/ops/evaluate_elements.h"

namespace plimsoll {
namespace log {

void backward(TaskBuilder& build) { backward_by(build, "BinaryDiv", build.read_gradient(0), build.read_input(0)); }

}  // namespace log

const Op op_Log{.name = "Log",
                .first_opset = 6,
                .evaluate = [](const KnownCall& call) {
                  return evaluate_unary(call.inputs, {.reals = [](double a) { return std::log(a); }});
                },
                .infer = infer_same,
                .forward = [](TaskBuilder& build) { forward_activation(build, {}, 10); },
                .backward = log::backward,
                .layout = LayoutRule::elementwise,
                .precision = PrecisionRule::single,
                .samples = [] { return activation_samples(0.5, 2); }};

}  // namespace plimsoll
