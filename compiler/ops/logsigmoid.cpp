// LogSigmoid: y = log(σ(alpha · x)).   LogSigmoidForward {x, y}   LogSigmoidBackward {x, dy, dx}: the slope is
// alpha · σ(-alpha · x). Not of ONNX: exporters write Log of Sigmoid, and with alpha = -1 Log of 1 - Sigmoid. These are
// infinite where the sigmoid is 0 or 1 to the last bit: below x = -104, or from x = 17 on.
#include "compiler/ops/activation.h"

namespace plimsoll {
namespace logsigmoid {

Attributes attributes(const NodeView& node) { return to_attributes(SlopeAttrs{.alpha = node.real("alpha", 1)}); }

void forward(TaskBuilder& build) { forward_activation(build, attributes(build.node()), 20); }
void backward(TaskBuilder& build) { backward_activation(build, Remembers::input, attributes(build.node()), 10); }

std::vector<Sample> samples() {
  std::vector<Sample> all = activation_samples(-3, 3);
  const SampleInput large{.dims = {kBatch, {37}}, .low = -200, .high = 200};
  all.push_back({.name = "large", .inputs = {large}});
  all.push_back({.name = "opposite", .inputs = {large}, .attributes = {{"alpha", -1.0}}});
  return all;
}

}  // namespace logsigmoid

const Op op_LogSigmoid{.name = "LogSigmoid",
                       .last_opset = 0,
                       .infer = infer_same,
                       .forward = logsigmoid::forward,
                       .backward = logsigmoid::backward,
                       .layout = LayoutRule::elementwise,
                       .precision = PrecisionRule::single,
                       .samples = logsigmoid::samples};

}  // namespace plimsoll
