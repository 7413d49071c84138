// Sign: y = -1, 0 or 1.   SignForward {x, y}. The gradient is zero.
#include "compiler/ops/activation.h"
#include "compiler/ops/evaluate_elements.h"

namespace plimsoll {

const Op op_Sign{.name = "Sign",
                 .first_opset = 9,
                 .evaluate = [](const KnownCall& call) {
                   return evaluate_unary(call.inputs,
                     {.ints = [](Dim a) { return MaybeDim(Dim{(a.value > 0) - (a.value < 0)}); },
                      .reals = [](double a) { return static_cast<double>((a > 0) - (a < 0)); }});
                 },
                 .infer = infer_same,
                 .forward = [](TaskBuilder& build) { forward_activation(build, {}, 2); },
                 .backward = zero_gradient,
                 .layout = LayoutRule::elementwise,
                 .samples = [] { return activation_samples(-1, 1); }};

}  // namespace plimsoll
