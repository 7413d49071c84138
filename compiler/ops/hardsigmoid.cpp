// HardSigmoid: y = alpha · x + beta, clipped to [0, 1].   HardSigmoidForward {x, y}   HardSigmoidBackward {y, dy, dx}
#include "compiler/ops/activation.h"

namespace plimsoll {
namespace hardsigmoid {

Attributes attributes(const NodeView& node) {
  return to_attributes(LineAttrs{.alpha = node.real("alpha", 0.2), .beta = node.real("beta", 0.5)});
}

void forward(TaskBuilder& build) { forward_activation(build, attributes(build.node()), 4); }

void backward(TaskBuilder& build) { backward_activation(build, Remembers::output, attributes(build.node()), 2); }

}  // namespace hardsigmoid

const Op op_HardSigmoid{.name = "HardSigmoid",
                        .first_opset = 6,
                        .attributes = {attribute::real("alpha"), attribute::real("beta")},
                        .infer = infer_same,
                        .forward = hardsigmoid::forward,
                        .backward = hardsigmoid::backward,
                        .layout = LayoutRule::elementwise,
                        .samples = [] { return activation_samples(-5, 5, {{"alpha", 1.0 / 6}}); }};

}  // namespace plimsoll
