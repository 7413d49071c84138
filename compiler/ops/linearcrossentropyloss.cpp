// LinearCrossEntropyLoss: the softmax cross entropy of a linear layer, without a tensor of logits. In no model file:
// network/linear_cross_entropy.h makes it of a product and SoftmaxCrossEntropyLoss.
//   x [d…, K], labels [e…], class weights? [C], weight [K, C] or transposed [C, K], bias? [C]
//   → mean loss, and as output 1 the number of hits. A row of x has one label: d… and e… have equally many elements.
//   LinearCrossEntropy {x, weight, labels, loss, correct, dx, dweight, bias, dbias, class weights}
//
// Why: a language model has tens of thousands of classes. Its logits, and their gradient, are often the largest tensors
// by far. The kernel computes the logits of some rows in its workspace and their loss, replaces them by their gradient,
// and multiplies that with the weight and with x before it goes on to the next rows (Hsu et al., Liger Kernel, 2024).
//
// The loss is the last node of the network, so its own gradient is known in the forward pass, and one task does all of
// this, as SoftmaxCrossEntropyLoss does: nothing is saved, and no product is computed twice. A loss that another node
// reads stays in two nodes.
//
// Inputs 1 and 2, the attributes and the marks are those of SoftmaxCrossEntropyLoss.
#include <algorithm>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/class_loss.h"
#include "compiler/ops/fed_labels.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace linearcrossentropyloss {

enum Input : size_t { kX, kLabels, kClassWeights, kWeight, kBias };

bool transposed(const NodeView& node) { return node.node().marks.transposed_b; }
int64_t classes_of(const NodeView& node) { return node.input_type(kWeight).dims[transposed(node) ? 0 : 1].value; }

Affine rows_times(const NodeView& node, int64_t factor) {
  const Affine rows = node.input_type(kLabels).elements();
  return {rows.fixed * factor, rows.per_sample * factor};
}

Dim rows_of(const NodeView& node) {
  const TensorType& labels = node.input_type(kLabels);
  return {labels.elements().fixed + labels.elements().per_sample, labels.depends_on_batch()};
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  for (const size_t i : {kX, kLabels, kWeight})
    if (!node.has_input(i)) return node.invalid("needs data, labels and a weight");
  const TensorType &x = node.input_type(kX), &labels = node.input_type(kLabels), &weight = node.input_type(kWeight);
  const std::string all = to_string(x) + ", labels " + to_string(labels) + " and weight " + to_string(weight);
  if (x.type != DataType::f32 || weight.type != DataType::f32)
    return node.unsupported("only f32 has kernels: data " + all);
  if (labels.type != DataType::i32 && labels.type != DataType::i64)
    return node.invalid("labels are " + to_string(labels) + "; expected integers");
  if (x.rank() < 2 || x.dims.back().batch || weight.rank() != 2)
    return node.invalid("needs rows and a matrix: data " + all);
  if (weight.dims[transposed(node) ? 1 : 0] != x.dims.back() ||
      TensorType{DataType::f32, Dims(x.dims.begin(), x.dims.end() - 1)}.elements() != labels.elements())
    return node.invalid("they do not match: data " + all);
  const TensorType of_classes{DataType::f32, {{classes_of(node)}}};
  for (const size_t i : {kClassWeights, kBias})
    if (node.has_input(i) && node.input_type(i) != of_classes)
      return node.invalid(std::string(i == kBias ? "the bias" : "the class weights") + ": " +
                          to_string(node.input_type(i)) + ", expected " + to_string(of_classes));
  if (const std::string reduction = node.text("reduction", "mean"); reduction != "mean" && reduction != "sum")
    return node.invalid("reduction '" + reduction + "' is not one of mean, sum");
  const TensorType number{DataType::f32, {{1}}};
  return std::vector{number, number};
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const int64_t classes = classes_of(node), inner = node.input_type(kX).dims.back().value;
  const SoftmaxCrossEntropyAttrs of_logits = attributes_of_class_loss(build, classes, false);
  const LinearCrossEntropyAttrs attrs{.scale = of_logits.scale,
                                      .ignore_index = of_logits.ignore_index,
                                      .smoothing = of_logits.smoothing,
                                      .sum = of_logits.sum,
                                      .counts = of_logits.counts,
                                      .transposed = transposed(node)};
  // No tensor has the classes as a dimension, so the trainer learns their number from the labels.
  if (fed_labels(node)) build.bound_input(kLabels, classes);
  const Dims x = {rows_of(node), {inner}}, labels = {rows_of(node)};
  const int64_t products = 1 + (build.wants_gradient(kX) ? 1 : 0) + (build.wants_gradient(kWeight) ? 1 : 0);
  build.task({.kernel = "LinearCrossEntropy",
              .kind = TaskKind::loss,
              .attributes = to_attributes(attrs),
              .operands = {viewed(build.read_input(kX), x), build.read_input(kWeight),
                           viewed(build.read_input(kLabels), labels), build.write_output(0), build.write_output(1),
                           viewed(build.write_gradient(kX), x), build.write_gradient(kWeight), build.read_input(kBias),
                           build.write_gradient(kBias), build.read_input(kClassWeights)},
              .in_place = {{0, 5}},
              .flops = rows_times(node, classes * (2 * inner * products + 8)),
              .twice = {1}});
}

// Never called, because the loss itself receives no gradient. Defined so that the parameters upstream count as trained.
void backward(TaskBuilder&) {}

std::vector<Sample> samples() {
  const SampleInput absent{.kind = ValueKind::constant};
  const auto parameter = [](Dims dims) { return SampleInput{.dims = std::move(dims), .kind = ValueKind::parameter}; };
  const auto labels = [](Dims dims, double classes) {
    return SampleInput{.dims = std::move(dims), .type = DataType::i64, .low = 0, .high = classes};
  };
  const auto weights = [](int64_t classes) {
    return SampleInput{.dims = {{classes}}, .kind = ValueKind::statistic, .low = 0.5, .high = 2};
  };
  SampleInput some = labels({kBatch, {3}}, 11);
  some.low = -2;
  const SampleInput tokens{.dims = {kBatch, {3}, {6}}}, rows{.dims = {kBatch, {5}}};
  // Several pieces of rows: 4 samples of 131.
  const SampleInput many{.dims = {kBatch, {131}, {2}}};
  return {
      {.name = "tokens",
       .inputs = {tokens, labels({kBatch, {3}}, 11), absent, parameter({{6}, {11}})},
       .outputs = 2},
      {.name = "tied",
       .inputs = {tokens, labels({kBatch, {3}}, 300), absent, parameter({{300}, {6}})},
       .marks = {.transposed_b = true},
       .outputs = 2},
      {.name = "flat_labels",
       .inputs = {tokens, labels({{3, true}}, 11), absent, parameter({{11}, {6}}), parameter({{11}})},
       .marks = {.transposed_b = true}},
      {.name = "rows",
       .inputs = {rows, labels({kBatch}, 37), absent, parameter({{5}, {37}}), parameter({{37}})},
       .outputs = 2},
      // Without hits: of 524 rows, one has two largest logits that differ by less than bf16 shows, and algorithms round
      // them differently.
      {.name = "pieces",
       .inputs = {many, labels({kBatch, {131}}, 5), absent, parameter({{5}, {2}}), parameter({{5}})},
       .marks = {.transposed_b = true}},
      {.name = "ignored",
       .inputs = {tokens, some, absent, parameter({{6}, {11}})},
       .attributes = {{"ignore_index", int64_t{2}}},
       .outputs = 2},
      {.name = "sum",
       .inputs = {tokens, labels({kBatch, {3}}, 11), absent, parameter({{11}, {6}})},
       .attributes = {{"reduction", std::string("sum")}},
       .marks = {.transposed_b = true},
       .outputs = 2},
      {.name = "weighed",
       .inputs = {tokens, some, weights(11), parameter({{6}, {11}}), parameter({{11}})},
       .outputs = 2},
      {.name = "smoothed",
       .inputs = {tokens, some, absent, parameter({{6}, {11}})},
       .marks = {.label_smoothing = 0.2},
       .outputs = 2},
      {.name = "smoothed_weighed",
       .inputs = {tokens, some, weights(11), parameter({{11}, {6}}), parameter({{11}})},
       .marks = {.label_smoothing = 0.2, .transposed_b = true},
       .outputs = 2},
  };
}

}  // namespace linearcrossentropyloss

const Op op_LinearCrossEntropyLoss{
    .name = "LinearCrossEntropyLoss",
    .first_opset = 0,
    .last_opset = 0,
    .inputs = {Slot::data, Slot::data, Slot::data, Slot::weight, Slot::bias},
    .required_inputs = 2,
    .most_outputs = 2,
    .without_gradient = {1, 2},
    .infer = linearcrossentropyloss::infer,
    .forward = linearcrossentropyloss::forward,
    .backward = linearcrossentropyloss::backward,
    .whole_numbers = 1,
    .marks = {.label_smoothing = 1, .transposed_b = true, .factors = DataType::bf16},
    .sums_samples = true,
    .wants_all_samples = class_loss_wants_all_samples,
    .scores = -1,
    .precision = PrecisionRule::single,
    .factors = {linearcrossentropyloss::kX, linearcrossentropyloss::kWeight},
    .samples = linearcrossentropyloss::samples};

}  // namespace plimsoll
