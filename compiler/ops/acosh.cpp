// Acosh: y = arcosh(x).   AcoshForward {x, y}   AcoshBackward {x, dy, dx}: dx = dy / √(x² - 1)
#include <cmath>

#include "compiler/ops/activation.h"
#include "compiler/ops/evaluate_elements.h"

namespace plimsoll {

const Op op_Acosh{.name = "Acosh",
                  .first_opset = 9,
                  .evaluate = [](const KnownCall& call) {
                    return evaluate_unary(call.inputs, {.reals = [](double a) { return std::acosh(a); }});
                  },
                  .infer = infer_same,
                  .forward = [](TaskBuilder& build) { forward_activation(build, {}, 20); },
                  .backward = [](TaskBuilder& build) { backward_activation(build, Remembers::input, {}, 20); },
                  .layout = LayoutRule::elementwise,
                  .precision = PrecisionRule::single,
                  .samples = [] { return activation_samples(1.5, 4); }};

}  // namespace plimsoll
