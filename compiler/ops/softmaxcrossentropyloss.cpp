// SoftmaxCrossEntropyLoss: scores [N, C, d…], labels [N, d…] → mean loss, and as output 1 the number of hits.
//   SoftmaxCrossEntropy {logits, labels, loss, correct, dlogits}
//
// One task: the forward pass has all that the gradient needs at hand. The mean is over the whole iteration, whatever
// the rounds. Its denominator here is of all labels; how many are not counted (ignore_index, negative ones) is known to the
// trainer before the first round, and RunContext::loss_scale makes up for it. ONNX's output 1, the logarithms of the probabilities, is not offered.
//
// Where another node reads the loss, a term of a model's own, the forward task leaves the gradient for a loss of 1, and the backward
// multiplies it. Labels are all counted then: the trainer knows of the last input alone how many are not.
//
// With NodeMarks::classes_last scores are [N, d…, C]: of every token of a sequence.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/class_loss.h"
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

// The node that computes the labels from what is fed; nullptr where they are fed, at most under other dimensions or turned.
const Node* maker_of_labels(const NodeView& node) {
  const Network& network = node.network();
  ValueId labels = node.node().inputs[1];
  while (network.values[labels].kind == ValueKind::intermediate) {
    const auto makes = [&](const Node& other) { return std::count(other.outputs.begin(), other.outputs.end(), labels) > 0; };
    const auto maker = std::find_if(network.nodes.begin(), network.nodes.end(), makes);
    if (maker == network.nodes.end()) return nullptr;
    const Op* const op = find_op(maker->op);
    if (maker->op != "Transpose" && (op == nullptr || op->forward != forward_alias)) return &*maker;
    labels = maker->inputs[0];
  }
  return nullptr;
}

bool classes_last(const NodeView& node) { return node.node().marks.classes_last; }

// Where the classes are.
size_t axis_of_classes(const NodeView& node) { return classes_last(node) ? node.input_type(0).rank() - 1 : 1; }

}  // namespace softmaxcrossentropyloss

Result<std::vector<TensorType>> infer_class_loss(const NodeView& node) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("needs scores and labels");
  if (node.has_input(2)) return node.unsupported("weights of classes (input 2) have no kernel; export the loss without `weight`");
  if (const std::string reduction = node.text("reduction", "mean"); reduction != "mean")
    return node.unsupported("reduction '" + reduction + "' has no kernel, only 'mean'");
  if (softmaxcrossentropyloss::is_read(node, 1)) return node.unsupported("its second output, log_prob, is read by another node");
  // How many labels count is known to the trainer from what it feeds. Of labels that a task computes nobody would know it.
  if (const Node* const maker = softmaxcrossentropyloss::maker_of_labels(node))
    return node.unsupported(fmt::format("its labels are computed, by {}, so the trainer cannot see which of them count; feed the "
                                        "labels as they are compared, or train on the scores: --output names them",
                                        NodeView(node.network(), *maker).describe()));
  const TensorType &scores = node.input_type(0), &labels = node.input_type(1);
  if (scores.rank() < 2) return node.invalid("scores " + to_string(scores.dims) + " have no dimension of classes");
  const size_t axis = softmaxcrossentropyloss::axis_of_classes(node);
  if (scores.dims[axis].batch) return node.invalid("the classes of scores " + to_string(scores.dims) + " are samples");
  if (labels.type != DataType::i32 && labels.type != DataType::i64)
    return node.invalid("labels are " + to_string(labels) + " when they should be integers");
  Dims expected = scores.dims;
  expected.erase(expected.begin() + static_cast<int64_t>(axis));
  const bool one_pixel = std::all_of(expected.begin() + 1, expected.end(), [](const Dim& d) { return d == Dim{1}; });
  if (labels.dims != expected && !(one_pixel && labels.dims == Dims{expected[0]}))
    return node.invalid("labels are " + to_string(labels.dims) + " when scores " + to_string(scores.dims) +
                        " need " + to_string(expected));
  const TensorType number{DataType::f32, {{1}}};
  return std::vector{number, number};
}

void forward_class_loss(TaskBuilder& build, std::string kernel) {
  const NodeView& node = build.node();
  const int64_t rows = node.input_type(1).elements().at(build.batch());
  // The kernel has classes at axis 1: tokens are as good as samples there.
  const TensorType &scores = node.input_type(0), &given = node.input_type(1);
  const Dim all{given.elements().fixed + given.elements().per_sample, given.depends_on_batch()};
  const Dims as_rows = softmaxcrossentropyloss::classes_last(node) ? Dims{all, scores.dims.back()} : scores.dims;
  const Dims labels = softmaxcrossentropyloss::classes_last(node) ? Dims{all} : given.dims;
  const bool is_term = softmaxcrossentropyloss::is_read(node, 0);
  constexpr int64_t kPyTorchs = -100;  // where the model names none
  if (is_term) build.bound_input(1, scores.dims[softmaxcrossentropyloss::axis_of_classes(node)].value);
  else build.ignore_in_input(1, node.integer("ignore_index", kPyTorchs));
  const auto gradient = [&] {
    if (!is_term) return build.write_gradient(0);
    return build.wants_gradient(0) ? build.write_stash("slope", scores) : Operand{};
  };
  build.task({.kernel = std::move(kernel),
              .kind = is_term ? TaskKind::forward : TaskKind::loss,
              .attributes = to_attributes(SoftmaxCrossEntropyAttrs{
                  .scale = 1.0 / static_cast<double>(rows), .ignore_index = node.integer("ignore_index", -1)}),
              .operands = {viewed(build.read_input(0), as_rows), viewed(build.read_input(1), labels), build.write_output(0),
                           build.write_output(1), viewed(gradient(), as_rows)},
              .in_place = {{0, 4}},
              .flops = flops_per_element(node.input_type(0), 8)});
}

void backward_class_loss(TaskBuilder& build) {
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
  };
}

const Op op_SoftmaxCrossEntropyLoss{.name = "SoftmaxCrossEntropyLoss",
                                    .first_opset = 12,
                                    .required_inputs = 2,
                                    .most_outputs = 2,
                                    .unmade_output = "the logarithms of the probabilities",
                                    .attributes = {attribute::integer("ignore_index").since(12),
                                                   attribute::text("reduction", attribute::kReductions).since(12)},
                                    .infer = infer_class_loss,
                                    .forward = [](TaskBuilder& build) { forward_class_loss(build, "SoftmaxCrossEntropy"); },
                                    .backward = backward_class_loss,
                                    .whole_numbers = 1,
                                    .marks = {.classes_last = true},
                                    .sums_samples = true,
                                    .samples = class_loss_samples};

}  // namespace plimsoll
