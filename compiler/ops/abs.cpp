// Abs: y = |x|.   AbsForward {x, y}   AbsBackward {x, dy, dx}: dx = dy · sign(x), which is 0 at 0, as in PyTorch
#include <cmath>

#include "compiler/ops/activation.h"
#include "compiler/ops/evaluate_elements.h"

namespace plimsoll {

const Op op_Abs{.name = "Abs",
                .first_opset = 6,
                .evaluate = [](const KnownCall& call) {
                  return evaluate_unary(call.inputs,
                    {.ints = [](Dim a) { return a.value < 0 ? symbolic::add({0}, a, -1) : MaybeDim(a); },
                     .reals = [](double a) { return std::abs(a); }});
                },
                .infer = infer_same,
                .forward = [](TaskBuilder& build) { forward_activation(build, {}, 1); },
                .backward = [](TaskBuilder& build) { backward_activation(build, Remembers::input, {}, 2); },
                .layout = LayoutRule::elementwise,
                .samples = [] { return activation_samples(-1, 1); }};

}  // namespace plimsoll
