// BinaryCrossEntropyLoss: Plimsoll's own operator. The mean over all elements of the iteration of
//   w · (-p · t · ln q - (1 - t) · ln(1 - q)),   q = sigmoid(logit)
// as PyTorch's BCEWithLogitsLoss. The weights w (input 2) and p (input 3, pos_weight) are one for each class along the
// attribute `axis`, or a single one. NodeMarks::label_smoothing S makes the target (1 - S) · t + S / 2. Output 1 is the
// number of hits: elements where (logit > 0) equals (target > 0.5).
//   BinaryCrossEntropy {logits, target, loss, correct, dlogits, weights?, positive weights?}
#include "compiler/ops/op.h"
#include "runtime/attrs/loss.h"

namespace plimsoll {
namespace binarycrossentropyloss {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("needs logits and a target");
  const TensorType &logits = node.input_type(0), &target = node.input_type(1);
  if (logits.dims != target.dims || target.type != DataType::f32)
    return node.invalid("the target is " + to_string(target) + ", but the logits are " + to_string(logits));
  const int64_t axis = node.integer("axis", 0);
  if (axis < 0 || axis > static_cast<int64_t>(logits.rank())) return node.invalid("there is no such axis");
  for (const size_t i : {size_t{2}, size_t{3}}) {
    if (!node.has_input(i)) continue;
    const TensorType& weights = node.input_type(i);
    const bool of_classes = axis < static_cast<int64_t>(logits.rank()) &&
                            !logits.dims[static_cast<size_t>(axis)].batch &&
                            weights.dims == Dims{logits.dims[static_cast<size_t>(axis)]};
    if (weights.type != DataType::f32 || (weights.dims != Dims{{1}} && !of_classes))
      return node.invalid("the weights are " + to_string(weights) + ", but the logits are " + to_string(logits));
  }
  const TensorType number{DataType::f32, {{1}}};
  return std::vector{number, number};
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const TensorType& logits = node.input_type(0);
  const int64_t elements = logits.elements().at(build.batch());
  int64_t inner = 1;  // no dimension after the classes is the batch
  for (size_t i = static_cast<size_t>(node.integer("axis", 0)) + 1; i < logits.rank(); ++i)
    inner *= logits.dims[i].value;
  std::vector<Operand> operands = {build.read_input(0), build.read_input(1), build.write_output(0),
                                   build.write_output(1), build.write_gradient(0)};
  if (node.has_input(2) || node.has_input(3)) operands.push_back(build.read_input(2));
  if (node.has_input(3)) operands.push_back(build.read_input(3));
  build.task({.kernel = "BinaryCrossEntropy",
              .kind = TaskKind::loss,
              .attributes = to_attributes(BinaryCrossEntropyAttrs{.scale = 1.0 / static_cast<double>(elements),
                                                                  .smoothing = node.node().marks.label_smoothing,
                                                                  .inner = inner}),
              .operands = std::move(operands),
              .in_place = {{0, 4}, {1, 4}},
              .flops = flops_per_element(logits, 12)});
}

// Never called, because the loss itself receives no gradient. Defined so that the parameters upstream count as trained.
void backward(TaskBuilder&) {}

std::vector<Sample> samples() {
  const auto of = [](std::string name, Dims dims, int outputs) {
    return Sample{
        .name = std::move(name),
        .inputs = {{.dims = dims, .low = -4, .high = 4}, {.dims = dims, .kind = ValueKind::input, .low = 0, .high = 1}},
        .outputs = outputs};
  };
  const auto weighed =
      [&](std::string name, Dims dims, int64_t axis, int64_t weights, int64_t positive, double smoothing) {
    Sample sample = of(std::move(name), std::move(dims), 2);
    sample.attributes = {{"axis", axis}};
    sample.marks.label_smoothing = smoothing;
    for (const int64_t count : {weights, positive})
      sample.inputs.push_back({.dims = {{count}}, .kind = ValueKind::statistic, .low = 0.5, .high = 2});
    return sample;
  };
  Sample smoothed = of("smoothed", {kBatch, {7}}, 2);
  smoothed.marks.label_smoothing = 0.2;
  Sample of_classes = weighed("of_classes", {kBatch, {37}}, 1, 37, 1, 0);
  of_classes.inputs.pop_back();
  return {std::move(smoothed),
          std::move(of_classes),
          weighed("weighed", {kBatch, {7}}, 1, 7, 7, 0.1),
          weighed("weighed_pixels", {kBatch, {6}, {5}, {9}}, 1, 1, 6, 0),
          weighed("weighed_last", {kBatch, {5}, {36}}, 2, 36, 1, 0),
          of("rows", {kBatch, {7}}, 2),
          of("alone", {kBatch}, 1),
          of("images", {kBatch, {3}, {40}, {41}}, 2)};
}

}  // namespace binarycrossentropyloss

const Op op_BinaryCrossEntropyLoss{.name = "BinaryCrossEntropyLoss",
                                   .first_opset = 0,
                                   .last_opset = 0,
                                   .required_inputs = 2,
                                   .attributes = {attribute::integer("axis")},
                                   .without_gradient = {1, 2, 3},
                                   .infer = binarycrossentropyloss::infer,
                                   .forward = binarycrossentropyloss::forward,
                                   .backward = binarycrossentropyloss::backward,
                                   .marks = {.label_smoothing = 1},
                                   .sums_samples = true,
                                   .precision = PrecisionRule::single,
                                   .samples = binarycrossentropyloss::samples};

}  // namespace plimsoll
