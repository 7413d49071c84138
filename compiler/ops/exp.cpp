// Exp: y = e^x.   ExpForward {x, y}   BinaryMul {y, dy, dx}: the output is its own derivative.
#include <cmath>

#include "compiler/ops/activation.h"
#include "compiler/ops/evaluate_elements.h"

namespace plimsoll {
namespace exp {

void backward(TaskBuilder& build) { backward_by(build, "BinaryMul", build.read_output(0), build.read_gradient(0)); }

}  // namespace exp

const Op op_Exp{.name = "Exp",
                .first_opset = 6,
                .evaluate = [](const KnownCall& call) {
                  return evaluate_unary(call.inputs, {.reals = [](double a) { return std::exp(a); }});
                },
                .infer = infer_same,
                .forward = [](TaskBuilder& build) { forward_activation(build, {}, 10); },
                .backward = exp::backward,
                .layout = LayoutRule::elementwise,
                .precision = PrecisionRule::single,
                .samples = [] { return activation_samples(-1, 1); }};

}  // namespace plimsoll
