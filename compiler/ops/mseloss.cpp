// MseLoss: Plimsoll's own operator, the mean of (prediction - target)² over all elements of the iteration.
//   Mse {prediction, target, loss, dprediction}
#include "compiler/ops/op.h"
#include "runtime/attrs/loss.h"

namespace plimsoll {
namespace mseloss {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("needs a prediction and a target");
  const TensorType &prediction = node.input_type(0), &target = node.input_type(1);
  if (prediction.dims != target.dims || target.type != DataType::f32)
    return node.invalid("the target is " + to_string(target) + ", but the prediction is " + to_string(prediction));
  return std::vector{TensorType{DataType::f32, {{1}}}};
}

void forward(TaskBuilder& build) {
  const TensorType& prediction = build.node().input_type(0);
  const int64_t elements = prediction.elements().at(build.batch());
  build.task({.kernel = "Mse",
              .kind = TaskKind::loss,
              .attributes = to_attributes(MseAttrs{.scale = 1.0 / static_cast<double>(elements)}),
              .operands = {build.read_input(0), build.read_input(1), build.write_output(0), build.write_gradient(0)},
              .in_place = {{0, 3}, {1, 3}},
              .flops = flops_per_element(prediction, 4)});
}

// Never called, because the loss itself receives no gradient. Defined so that the parameters upstream count as trained.
void backward(TaskBuilder&) {}

std::vector<Sample> samples() {
  return {
      {.name = "rows", .inputs = {{.dims = {kBatch, {7}}}, {.dims = {kBatch, {7}}, .kind = ValueKind::input}}},
      {.name = "images",
       .inputs = {{.dims = {kBatch, {3}, {40}, {41}}}, {.dims = {kBatch, {3}, {40}, {41}}, .kind = ValueKind::input}}}};
}

}  // namespace mseloss

const Op op_MseLoss{.name = "MseLoss",
                    .first_opset = 0,
                    .last_opset = 0,
                    .required_inputs = 2,
                    .infer = mseloss::infer,
                    .forward = mseloss::forward,
                    .backward = mseloss::backward,
                    .sums_samples = true,
                    .precision = PrecisionRule::single,
                    .samples = mseloss::samples};

}  // namespace plimsoll
