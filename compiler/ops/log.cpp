// Log: y = ln x.   LogForward {x, y}   LogBackward {x, dy, dx}: dx = dy / x, and 0 where dy is 0
#include <cmath>

#include "compiler/ops/activation.h"
#include "compiler/ops/evaluate_elements.h"

namespace plimsoll {

const Op op_Log{.name = "Log",
                .first_opset = 6,
                .evaluate = [](const KnownCall& call) {
                  return evaluate_unary(call.inputs, {.reals = [](double a) { return std::log(a); }});
                },
                .infer = infer_same,
                .forward = [](TaskBuilder& build) { forward_activation(build, {}, 10); },
                .backward = [](TaskBuilder& build) { backward_activation(build, Remembers::input, {}, 4); },
                .layout = LayoutRule::elementwise,
                .precision = PrecisionRule::single,
                .samples = [] { return activation_samples(0.5, 2); }};

}  // namespace plimsoll
