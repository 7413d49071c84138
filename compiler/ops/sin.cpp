// Sin: y = sin(x).   SinForward {x, y}   SinBackward {x, dy, dx}: dx = dy · cos(x)
#include <cmath>

#include "compiler/ops/activation.h"
#include "compiler/ops/evaluate_elements.h"

namespace plimsoll {

const Op op_Sin{.name = "Sin",
                .first_opset = 7,
                .evaluate = [](const KnownCall& call) {
                  return evaluate_unary(call.inputs, {.reals = [](double a) { return std::sin(a); }});
                },
                .infer = infer_same,
                .forward = [](TaskBuilder& build) { forward_activation(build, {}, 20); },
                .backward = [](TaskBuilder& build) { backward_activation(build, Remembers::input, {}, 20); },
                .layout = LayoutRule::elementwise,
                .samples = [] { return activation_samples(-4, 4); }};

}  // namespace plimsoll
