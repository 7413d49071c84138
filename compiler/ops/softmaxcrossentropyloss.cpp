// SoftmaxCrossEntropyLoss: scores [N, C, d…], labels [N, d…] → mean loss, and as output 1 the number of hits.
//   SoftmaxCrossEntropy {logits, labels, loss, correct, dlogits, weights?}
//
// It is one task, because the forward pass has everything that the gradient needs. The mean is over the whole
// iteration, regardless of the rounds. The denominator here counts all labels. The trainer knows before the first round
// which labels count and how much (ignore_index, negative labels, class weights), and RunContext corrects the
// denominator. If the trainer does not know the labels (fed_labels.h), the batch is not split, and the kernel counts.
// ONNX's output 1, the log-probabilities, is not supported.
//
// If another node reads the loss (as a term of the model's own loss), the forward task computes the gradient for a loss
// gradient of 1, and the backward scales it. Reduction "none" gives a loss per label:
//   SoftmaxCrossEntropyEach {logits, labels, losses, weights?}
//   SoftmaxCrossEntropyEachBackward {logits, labels, dlosses, dlogits, weights?}
//
// With NodeMarks::classes_last the scores are [N, d…, C]: one row per token of a sequence.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/class_loss.h"
#include "compiler/ops/fed_labels.h"
#include "compiler/ops/reshaping.h"
#include "runtime/attrs/loss.h"

namespace plimsoll {
namespace softmaxcrossentropyloss {

bool is_read(const NodeView& node, size_t output) {
  if (!node.has_output(output)) return false;
  const ValueId value = node.node().outputs[output];
  for (const Node& other : node.network().nodes)
    if (std::find(other.inputs.begin(), other.inputs.end(), value) != other.inputs.end()) return true;
  return false;
}

bool classes_last(const NodeView& node) { return node.node().marks.classes_last; }
double smoothing(const NodeView& node) { return node.node().marks.label_smoothing; }

// The axis of the classes.
size_t axis_of_classes(const NodeView& node) { return classes_last(node) ? node.input_type(0).rank() - 1 : 1; }

std::string reduction_of(const NodeView& node) { return node.text("reduction", "mean"); }

// Scores and labels as the kernel sees them, with classes at axis 1: tokens are treated as samples.
struct Rows {
  Dims scores, labels;
};

Rows rows_of(const NodeView& node) {
  const TensorType &scores = node.input_type(0), &given = node.input_type(1);
  if (!classes_last(node)) return {scores.dims, given.dims};
  const Dim all{given.elements().fixed + given.elements().per_sample, given.depends_on_batch()};
  return {{all, scores.dims.back()}, {all}};
}

// Appended after the mandatory operands, so that a loss without weights has only those.
void add_weights(TaskBuilder& build, std::vector<Operand>& operands) {
  if (build.node().has_input(2)) operands.push_back(build.read_input(2));
}

void forward_each(TaskBuilder& build, std::string kernel) {
  const NodeView& node = build.node();
  const Rows rows = rows_of(node);
  build.bound_labels(1, node.input_type(0).dims[axis_of_classes(node)].value, ignored_label(node));
  std::vector<Operand> operands = {viewed(build.read_input(0), rows.scores), viewed(build.read_input(1), rows.labels),
                                   viewed(build.write_output(0), rows.labels)};
  add_weights(build, operands);
  build.task({.kernel = std::move(kernel),
              .attributes = to_attributes(
                  CrossEntropyEachAttrs{.ignore_index = ignored_label(node), .smoothing = smoothing(node)}),
              .operands = std::move(operands),
              .flops = flops_per_element(node.input_type(0), 8)});
}

void backward_each(TaskBuilder& build) {
  const NodeView& node = build.node();
  const Rows rows = rows_of(node);
  const bool of_logits = node.node().op == "SoftmaxCrossEntropyLoss";
  std::vector<Operand> operands;
  if (of_logits) operands.push_back(viewed(build.read_input(0), rows.scores));
  operands.push_back(viewed(build.read_input(1), rows.labels));
  operands.push_back(viewed(build.read_gradient(0), rows.labels));
  operands.push_back(viewed(build.write_gradient(0), rows.scores));
  add_weights(build, operands);
  build.task({.kernel = of_logits ? "SoftmaxCrossEntropyEachBackward" : "NegativeLogLikelihoodEachBackward",
              .kind = TaskKind::backward_data,
              .attributes = to_attributes(
                  CrossEntropyEachAttrs{.ignore_index = ignored_label(node), .smoothing = smoothing(node)}),
              .operands = std::move(operands),
              .in_place = of_logits ? std::vector<std::pair<int, int>>{{0, 3}} : std::vector<std::pair<int, int>>{},
              .flops = flops_per_element(node.input_type(0), 8)});
}

}  // namespace softmaxcrossentropyloss

Result<std::vector<TensorType>> infer_class_loss(const NodeView& node) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("needs scores and labels");
  const std::string reduction = softmaxcrossentropyloss::reduction_of(node);
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    return node.invalid("reduction '" + reduction + "' is not one of mean, sum, none");
  if (softmaxcrossentropyloss::is_read(node, 1))
    return node.unsupported("its second output, log_prob, is read by another node");
  const TensorType &scores = node.input_type(0), &labels = node.input_type(1);
  if (scores.rank() < 2) return node.invalid("scores " + to_string(scores.dims) + " have no class dimension");
  const size_t axis = softmaxcrossentropyloss::axis_of_classes(node);
  if (scores.dims[axis].batch)
    return node.unsupported("the class axis of scores " + to_string(scores.dims) + " is the batch");
  if (labels.type != DataType::i32 && labels.type != DataType::i64)
    return node.invalid("labels are " + to_string(labels) + "; expected integers");
  Dims expected = scores.dims;
  expected.erase(expected.begin() + static_cast<int64_t>(axis));
  const bool one_pixel = std::all_of(expected.begin() + 1, expected.end(), [](const Dim& d) { return d == Dim{1}; });
  if (labels.dims != expected && !(one_pixel && labels.dims == Dims{expected[0]}))
    return node.invalid("labels are " + to_string(labels.dims) + ", but scores " + to_string(scores.dims) +
                        " need " + to_string(expected));
  if (node.has_input(2) && node.input_type(2) != TensorType{DataType::f32, {scores.dims[axis]}})
    return node.invalid("the class weights are " + to_string(node.input_type(2)) + ", expected " +
                        std::to_string(scores.dims[axis].value) + " classes");
  if (reduction == "none") return std::vector{TensorType{DataType::f32, labels.dims}};
  return std::vector{TensorType{DataType::f32, {}}, TensorType{DataType::f32, {{1}}}};
}

bool class_loss_wants_all_samples(const NodeView& node) {
  return softmaxcrossentropyloss::reduction_of(node) == "mean" && !fed_labels(node);
}

SoftmaxCrossEntropyAttrs attributes_of_class_loss(TaskBuilder& build, int64_t classes, bool is_term) {
  const NodeView& node = build.node();
  const std::string reduction = softmaxcrossentropyloss::reduction_of(node);
  const int64_t ignored = ignored_label(node);
  const auto fed = reduction == "mean" ? fed_labels(node) : std::nullopt;
  if (fed) build.feed_labels(*fed, classes, ignored, build.read_input(2), is_term);
  else if (is_term) build.bound_labels(1, classes, ignored);
  SoftmaxCrossEntropyAttrs attrs{.ignore_index = node.integer("ignore_index", -1),
                                 .smoothing = softmaxcrossentropyloss::smoothing(node)};
  if (reduction == "sum") attrs.sum = true;
  else if (!fed) attrs.counts = true;
  else attrs.scale = 1.0 / static_cast<double>(build.batch() * (fed->end - fed->first));
  if (fed && is_term) attrs.fed = fed->index;
  attrs.term = is_term;
  return attrs;
}

void forward_class_loss(TaskBuilder& build, std::string kernel) {
  const NodeView& node = build.node();
  const std::string reduction = softmaxcrossentropyloss::reduction_of(node);
  if (reduction == "none") return softmaxcrossentropyloss::forward_each(build, kernel + "Each");
  const TensorType& scores = node.input_type(0);
  const softmaxcrossentropyloss::Rows rows = softmaxcrossentropyloss::rows_of(node);
  const bool is_term = softmaxcrossentropyloss::is_read(node, 0);
  const int64_t classes = scores.dims[softmaxcrossentropyloss::axis_of_classes(node)].value;
  const SoftmaxCrossEntropyAttrs attrs = attributes_of_class_loss(build, classes, is_term);
  const auto gradient = [&] {
    if (!is_term) return build.write_gradient(0);
    return build.wants_gradient(0) ? build.write_stash("slope", scores) : Operand{};
  };
  std::vector<Operand> operands = {viewed(build.read_input(0), rows.scores), viewed(build.read_input(1), rows.labels),
                                   build.write_output(0), build.write_output(1), viewed(gradient(), rows.scores)};
  softmaxcrossentropyloss::add_weights(build, operands);
  build.task({.kernel = std::move(kernel),
              .kind = is_term ? TaskKind::forward : TaskKind::loss,
              .attributes = to_attributes(attrs),
              .operands = std::move(operands),
              .in_place = {{0, 4}},
              .flops = flops_per_element(node.input_type(0), 8)});
}

void backward_class_loss(TaskBuilder& build) {
  if (softmaxcrossentropyloss::reduction_of(build.node()) == "none")
    return softmaxcrossentropyloss::backward_each(build);
  const Operand slope = build.read_stash("slope");
  build.task({.kernel = "BinaryMul",
              .kind = TaskKind::backward_data,
              .attributes = {},
              .operands = {viewed(build.read_gradient(0), {{1}}), slope, build.write_gradient(0)},
              .in_place = {{1, 2}},
              .flops = flops_per_element(slope.type, 1)});
}

std::vector<Sample> class_loss_samples() {
  const auto labels = [](Dims dims, double classes, DataType type) {
    return SampleInput{.dims = std::move(dims), .type = type, .low = 0, .high = classes};
  };
  SampleInput some = labels({kBatch, {3}}, 6, DataType::i64);
  some.low = -2;
  // Weights that are computed as far as this instance can tell, so the kernel counts.
  const auto weights = [](int64_t classes) {
    return SampleInput{.dims = {{classes}}, .kind = ValueKind::statistic, .low = 0.5, .high = 2};
  };
  return {
      {.name = "classes", .inputs = {{.dims = {kBatch, {37}}}, labels({kBatch}, 37, DataType::i32)}, .outputs = 2},
      {.name = "alone", .inputs = {{.dims = {kBatch, {5}}}, labels({kBatch}, 5, DataType::i64)}},
      {.name = "pixels",
       .inputs = {{.dims = {kBatch, {5}, {9}, {11}}}, labels({kBatch, {9}, {11}}, 5, DataType::i32)},
       .outputs = 2},
      {.name = "one_pixel",
       .inputs = {{.dims = {kBatch, {5}, {1}, {1}}}, labels({kBatch}, 5, DataType::i32)},
       .outputs = 2},
      {.name = "tokens",
       .inputs = {{.dims = {kBatch, {3}, {7}}}, labels({kBatch, {3}}, 7, DataType::i64)},
       .marks = {.classes_last = true},
       .outputs = 2},
      {.name = "tokens_by_four",
       .inputs = {{.dims = {kBatch, {3}, {1036}}}, labels({kBatch, {3}}, 1036, DataType::i64)},
       .marks = {.classes_last = true},
       .outputs = 2},
      {.name = "ignored",
       .inputs = {{.dims = {kBatch, {6}, {3}}}, some},
       .attributes = {{"ignore_index", int64_t{2}}},
       .outputs = 2},
      {.name = "weighed",
       .inputs = {{.dims = {kBatch, {37}}}, labels({kBatch}, 37, DataType::i32), weights(37)},
       .outputs = 2},
      {.name = "weighed_pixels", .inputs = {{.dims = {kBatch, {6}, {3}}}, some, weights(6)}, .outputs = 2},
      {.name = "sum",
       .inputs = {{.dims = {kBatch, {36}}}, labels({kBatch}, 36, DataType::i64)},
       .attributes = {{"reduction", std::string("sum")}},
       .outputs = 2},
      {.name = "each",
       .inputs = {{.dims = {kBatch, {36}}}, labels({kBatch}, 36, DataType::i64)},
       .attributes = {{"reduction", std::string("none")}}},
      {.name = "each_pixel",
       .inputs = {{.dims = {kBatch, {6}, {3}}}, some, weights(6)},
       .attributes = {{"reduction", std::string("none")}, {"ignore_index", int64_t{2}}}},
      {.name = "each_token",
       .inputs = {{.dims = {kBatch, {3}, {7}}}, labels({kBatch, {3}}, 7, DataType::i64)},
       .attributes = {{"reduction", std::string("none")}},
       .marks = {.classes_last = true}},
  };
}

namespace softmaxcrossentropyloss {

std::vector<Sample> samples() {
  std::vector<Sample> all = class_loss_samples();
  for (const char* const name : {"classes", "pixels", "weighed", "weighed_pixels", "each", "each_pixel", "tokens"}) {
    Sample smoothed = *std::find_if(all.begin(), all.end(), [&](const Sample& sample) { return sample.name == name; });
    smoothed.name = std::string("smoothed_") + name;
    smoothed.marks.label_smoothing = 0.2;
    all.push_back(std::move(smoothed));
  }
  return all;
}

}  // namespace softmaxcrossentropyloss

const Op op_SoftmaxCrossEntropyLoss{
    .name = "SoftmaxCrossEntropyLoss",
    .first_opset = 12,
    .required_inputs = 2,
    .most_outputs = 2,
    .unmade_output = "the log probabilities",
    .attributes = {attribute::integer("ignore_index").since(12),
                   attribute::text("reduction", attribute::kReductions).since(12)},
    .without_gradient = {1, 2},
    .infer = infer_class_loss,
    .forward = [](TaskBuilder& build) { forward_class_loss(build, "SoftmaxCrossEntropy"); },
    .backward = backward_class_loss,
    .whole_numbers = 1,
    .marks = {.classes_last = true, .label_smoothing = 1},
    .sums_samples = true,
    .wants_all_samples = class_loss_wants_all_samples,
    .precision = PrecisionRule::single,
    .samples = softmaxcrossentropyloss::samples};

}  // namespace plimsoll
