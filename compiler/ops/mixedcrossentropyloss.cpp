// MixedCrossEntropyLoss: Plimsoll's own operator, the loss of samples that are mixed of two (--mixed-labels).
//   scores [N, C] or [N, C, 1…], labels [N, 3] (runtime/attrs/mixed_label.h) → mean loss, number of hits
//   MixedCrossEntropy {logits, labels, loss, correct, dlogits, weights?}
//
// The loss of a sample is (1 - share) · CE(own) + share · CE(other). Its weight in the mean is
// (1 - share) · w[own] + share · w[other]. So a sample with share 0 is one of SoftmaxCrossEntropyLoss. A class that is
// ignored weighs 0. The operator is always the loss of the network, so it receives no gradient.
#include "compiler/ops/fed_labels.h"
#include "compiler/ops/op.h"
#include "runtime/attrs/loss.h"
#include "runtime/attrs/mixed_label.h"

namespace plimsoll {
namespace mixedcrossentropyloss {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("needs scores and labels");
  const TensorType &scores = node.input_type(0), &labels = node.input_type(1);
  if (scores.rank() < 2 || scores.dims[1].batch)
    return node.invalid("scores " + to_string(scores.dims) + " have no class dimension");
  for (size_t i = 2; i < scores.rank(); ++i)
    if (scores.dims[i] != Dim{1}) return node.invalid("scores " + to_string(scores.dims) + " are not of one label");
  if (labels != TensorType{DataType::i32, {scores.dims[0], {kNumbersOfMixedLabel}}})
    return node.invalid("the labels are " + to_string(labels) + ", but the scores are " + to_string(scores));
  if (node.has_input(2) && node.input_type(2) != TensorType{DataType::f32, {scores.dims[1]}})
    return node.invalid("the class weights are " + to_string(node.input_type(2)) + ", expected " +
                        std::to_string(scores.dims[1].value) + " classes");
  const TensorType number{DataType::f32, {{1}}};
  return std::vector{number, number};
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const TensorType& scores = node.input_type(0);
  const Operand weights = build.read_input(2);
  build.feed_mixed_labels(1, ignored_label(node), weights);
  std::vector<Operand> operands = {build.read_input(0), build.read_input(1), build.write_output(0),
                                   build.write_output(1), build.write_gradient(0)};
  if (node.has_input(2)) operands.push_back(weights);
  build.task({.kernel = "MixedCrossEntropy",
              .kind = TaskKind::loss,
              .attributes = to_attributes(SoftmaxCrossEntropyAttrs{.scale = 1.0 / static_cast<double>(build.batch()),
                                                                   .ignore_index = ignored_label(node),
                                                                   .smoothing = node.node().marks.label_smoothing}),
              .operands = std::move(operands),
              .in_place = {{0, 4}},
              .flops = flops_per_element(scores, 8)});
}

// Never called, because the loss itself receives no gradient. Defined so that the parameters upstream count as trained.
void backward(TaskBuilder&) {}

std::vector<Sample> samples() {
  const auto of = [](std::string name, Dims scores, double smoothing, bool weighed) {
    Sample sample{.name = std::move(name),
                  .inputs = {{.dims = scores},
                             {.dims = {kBatch, {kNumbersOfMixedLabel}},
                              .kind = ValueKind::input,
                              .type = DataType::i32,
                              .low = 0,
                              .high = static_cast<double>(scores[1].value)}},
                  .marks = {.label_smoothing = smoothing},
                  .outputs = 2};
    if (weighed)
      sample.inputs.push_back({.dims = {{scores[1].value}}, .kind = ValueKind::statistic, .low = 0.5, .high = 2});
    return sample;
  };
  return {of("classes", {kBatch, {37}}, 0, false), of("one_pixel", {kBatch, {5}, {1}, {1}}, 0.2, false),
          of("weighed", {kBatch, {300}}, 0.1, true)};
}

}  // namespace mixedcrossentropyloss

const Op op_MixedCrossEntropyLoss{.name = "MixedCrossEntropyLoss",
                                  .first_opset = 0,
                                  .last_opset = 0,
                                  .required_inputs = 2,
                                  .most_outputs = 2,
                                  .without_gradient = {1, 2},
                                  .infer = mixedcrossentropyloss::infer,
                                  .forward = mixedcrossentropyloss::forward,
                                  .backward = mixedcrossentropyloss::backward,
                                  .whole_numbers = 1,
                                  .marks = {.label_smoothing = 1},
                                  .sums_samples = true,
                                  .precision = PrecisionRule::single,
                                  .samples = mixedcrossentropyloss::samples};

}  // namespace plimsoll
