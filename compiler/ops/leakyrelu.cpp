// LeakyRelu: y = x for x > 0, else alpha · x.   LeakyReluForward {x, y}   LeakyReluBackward {a, dy, dx}
// The output has the sign of the input unless alpha is negative; then the backward reads the input.
#include "compiler/ops/activation.h"

namespace plimsoll {
namespace leakyrelu {

double alpha(const NodeView& node) { return node.real("alpha", 0.01); }

void forward(TaskBuilder& build) {
  forward_activation(build, to_attributes(SlopeAttrs{.alpha = alpha(build.node())}));
}

void backward(TaskBuilder& build) {
  backward_activation(build, alpha(build.node()) < 0 ? Remembers::input : Remembers::output,
                      to_attributes(SlopeAttrs{.alpha = alpha(build.node())}));
}

std::vector<Sample> samples() {
  std::vector<Sample> all = activation_samples(-1, 1);
  all.push_back({.name = "falling", .inputs = {{.dims = {kBatch, {7}}}}, .attributes = {{"alpha", -0.5}}});
  return all;
}

}  // namespace leakyrelu

const Op op_LeakyRelu{.name = "LeakyRelu",
                      .first_opset = 6,
                      .attributes = {attribute::real("alpha")},
                      .infer = infer_same,
                      .forward = leakyrelu::forward,
                      .backward = leakyrelu::backward,
                      .layout = LayoutRule::elementwise,
                      .samples = leakyrelu::samples};

}  // namespace plimsoll
