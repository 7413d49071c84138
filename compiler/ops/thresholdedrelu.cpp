// ThresholdedRelu: y = x for x > alpha, else 0.   ThresholdedReluForward {x, y}   ThresholdedReluBackward {a, dy, dx}
// dx = dy where a > alpha, else 0. For alpha >= 0, a is the output, so x need not be kept. For alpha < 0, a is the
// input: a zero of the output is above alpha whether or not x was.
#include "compiler/ops/activation.h"

namespace plimsoll {
namespace thresholdedrelu {

double alpha(const NodeView& node) { return node.real("alpha", 1); }

void forward(TaskBuilder& build) {
  forward_activation(build, to_attributes(SlopeAttrs{.alpha = alpha(build.node())}), 1);
}

void backward(TaskBuilder& build) {
  const double bound = alpha(build.node());
  backward_activation(build, bound >= 0 ? Remembers::output : Remembers::input,
                      to_attributes(SlopeAttrs{.alpha = bound}), 1);
}

std::vector<Sample> samples() {
  std::vector<Sample> all = activation_samples(-1, 1, {{"alpha", 0.25}});
  Sample below = all.front();
  below.name = "below_zero";
  below.attributes = {{"alpha", -0.5}};
  all.push_back(below);
  return all;
}

}  // namespace thresholdedrelu

const Op op_ThresholdedRelu{.name = "ThresholdedRelu",
                            .first_opset = 10,
                            .attributes = {attribute::real("alpha")},
                            .infer = infer_same,
                            .forward = thresholdedrelu::forward,
                            .backward = thresholdedrelu::backward,
                            .layout = LayoutRule::elementwise,
                            .samples = thresholdedrelu::samples};

}  // namespace plimsoll
