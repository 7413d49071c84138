// BinaryCrossEntropyLoss: Plimsoll's own operator. The mean over all elements of the iteration of -t·ln p - (1 -
// t)·ln(1 - p), where p = sigmoid(logit). Output 1 is the number of hits: elements where (logit > 0) equals (target >
// 0.5).
//   BinaryCrossEntropy {logits, target, loss, correct, dlogits}
#include "compiler/ops/op.h"
#include "runtime/attrs/loss.h"

namespace plimsoll {
namespace binarycrossentropyloss {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("needs logits and a target");
  const TensorType &logits = node.input_type(0), &target = node.input_type(1);
  if (logits.dims != target.dims || target.type != DataType::f32)
    return node.invalid("the target is " + to_string(target) + " when the logits are " + to_string(logits));
  const TensorType number{DataType::f32, {{1}}};
  return std::vector{number, number};
}

void forward(TaskBuilder& build) {
  const TensorType& logits = build.node().input_type(0);
  const int64_t elements = logits.elements().at(build.batch());
  build.task({.kernel = "BinaryCrossEntropy",
              .kind = TaskKind::loss,
              .attributes = to_attributes(BinaryCrossEntropyAttrs{.scale = 1.0 / static_cast<double>(elements)}),
              .operands = {build.read_input(0), build.read_input(1), build.write_output(0), build.write_output(1),
                           build.write_gradient(0)},
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
  return {of("rows", {kBatch, {7}}, 2), of("alone", {kBatch}, 1), of("images", {kBatch, {3}, {40}, {41}}, 2)};
}

}  // namespace binarycrossentropyloss

const Op op_BinaryCrossEntropyLoss{.name = "BinaryCrossEntropyLoss",
                                   .first_opset = 0,
                                   .last_opset = 0,
                                   .required_inputs = 2,
                                   .infer = binarycrossentropyloss::infer,
                                   .forward = binarycrossentropyloss::forward,
                                   .backward = binarycrossentropyloss::backward,
                                   .sums_samples = true,
                                   .precision = PrecisionRule::single,
                                   .samples = binarycrossentropyloss::samples};

}  // namespace plimsoll
