// Elu: y = x for x > 0, else alpha · (e^x - 1).   EluForward {x, y}   EluBackward {y, dy, dx}
// For x <= 0 the slope is alpha · e^x = y + alpha, so the output suffices.
#include "compiler/ops/activation.h"

namespace plimsoll {
namespace elu {

Attributes attributes(const NodeView& node) { return to_attributes(SlopeAttrs{.alpha = node.real("alpha", 1)}); }

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (const double alpha = node.real("alpha", 1); alpha < 0)
    return node.unsupported("alpha is " + std::to_string(alpha) + "; only alpha >= 0 has a gradient here");
  return infer_same(node);
}

void forward(TaskBuilder& build) { forward_activation(build, attributes(build.node()), 10); }

void backward(TaskBuilder& build) { backward_activation(build, Remembers::output, attributes(build.node()), 3); }

}  // namespace elu

const Op op_Elu{.name = "Elu",
                .first_opset = 6,
                .attributes = {attribute::real("alpha")},
                .infer = elu::infer,
                .forward = elu::forward,
                .backward = elu::backward,
                .layout = LayoutRule::elementwise,
                .samples = [] { return activation_samples(-2, 2, {{"alpha", 0.75}}); }};

}  // namespace plimsoll
