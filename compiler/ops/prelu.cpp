// PRelu: y = x for x > 0, else slope · x. The slope, often one number for each channel, broadcasts to x.
//   BinaryPRelu {x, slope, y}   PReluBackward {x, slope, dy, dx}: dx = dy for x > 0, else slope · dy
// The gradient of the slope is the sum of dy · min(x, 0). A Clip computes min(x, 0), and the kernels of a product the
// sum:
//   ClipForward {x, below}   ProductSum {dy, below, dslope}
// Written as Relu(x) + slope · (x - Relu(x)), two tensors of the size of x would be saved for the backward, which here
// reads only x.
#include "compiler/ops/binary.h"
#include "runtime/attrs/activation.h"

namespace plimsoll {
namespace prelu {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  for (size_t i = 0; i < 2; ++i) {
    if (!node.has_input(i)) return node.invalid("requires an input and a slope");
    if (node.input(i).constant) return node.unsupported("input " + std::to_string(i) + " is a constant");
    if (node.input_type(i).type != DataType::f32)
      return node.unsupported("only f32 is supported, input " + std::to_string(i) + " is " +
                              to_string(node.input_type(i)));
  }
  const TensorType& x = node.input_type(0);
  PLIMSOLL_ASSIGN(const Dims both, broadcast(node, x.dims, node.input_type(1).dims));
  if (both != x.dims)
    return node.invalid("the slope " + to_string(node.input_type(1).dims) + " does not broadcast to " +
                        to_string(x.dims));
  return std::vector{x};
}

void forward(TaskBuilder& build) { forward_binary(build, "BinaryPRelu"); }

void give_slope_gradient(TaskBuilder& build) {
  const TensorType& y = build.node().output_type(0);
  const Operand below = build.write_scratch("below", y);
  build.task({.kernel = "ClipForward",
              .kind = TaskKind::backward,
              .attributes = to_attributes(ClipAttrs{.max = 0}),
              .operands = {build.read_input(0), below},
              .in_place = {{0, 1}},
              .flops = flops_per_element(y, 1)});
  give_product_gradient(build, 1, as_read(below));
}

void backward(TaskBuilder& build) {
  if (build.wants_gradient(1)) give_slope_gradient(build);
  if (!build.wants_gradient(0)) return;
  const bool parameter = build.node().input(0).kind == ValueKind::parameter;
  build.task({.kernel = "PReluBackward",
              .kind = parameter ? TaskKind::backward_weights : TaskKind::backward_data,
              .operands = {build.read_input(0), build.read_input(1), build.read_gradient(0), build.write_gradient(0)},
              .in_place = {{0, 3}, {2, 3}},
              .flops = flops_per_element(build.node().output_type(0), 2)});
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, Dims x, Dims slope, ValueKind kind = ValueKind::parameter) {
    // Few elements of so wide a range are near the kink.
    return Sample{.name = std::move(name),
                  .inputs = {{.dims = std::move(x), .low = -30, .high = 30}, {.dims = std::move(slope), .kind = kind}}};
  };
  std::vector<Sample> all = {
      sample("per_channel", {kBatch, {32}, {3}, {4}}, {{32}, {1}, {1}}),
      sample("few_channels", {kBatch, {3}, {5}, {5}}, {{3}, {1}, {1}}),
      sample("one_slope", {kBatch, {16}, {3}, {3}}, {{1}}),
      sample("series", {kBatch, {6}, {1}, {9}}, {{6}, {1}, {1}}),
      sample("row", {kBatch, {3}, {5}}, {{5}}),
      sample("row_by_four", {kBatch, {3}, {8}}, {{8}}),
      sample("map", {kBatch, {4}, {3}, {4}}, {{1}, {4}, {3}, {4}}),
      sample("computed", {kBatch, {4}, {3}, {4}}, {kBatch, {4}, {1}, {1}}, ValueKind::intermediate),
      sample("of_each", {kBatch, {7}}, {kBatch, {7}}, ValueKind::intermediate),
      sample("of_parameter", {{3}, {4}}, {{4}}),
  };
  all.back().inputs[0].kind = ValueKind::parameter;
  return all;
}

}  // namespace prelu

const Op op_PRelu{.name = "PRelu",
                  .first_opset = 7,
                  .inputs = {Slot::data, Slot::weight},
                  .required_inputs = 2,
                  .samples_rule = SamplesRule::broadcast,
                  .infer = prelu::infer,
                  .forward = prelu::forward,
                  .backward = prelu::backward,
                  .layout_of = binary_layout,
                  .samples = prelu::samples};

}  // namespace plimsoll
