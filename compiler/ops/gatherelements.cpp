// GatherElements: along an axis, the element that each index names.
//   GatherElementsForward {x, indices, y}   GatherElementsBackward {indices, dy, dx}
#include "compiler/ops/elements.h"

namespace plimsoll {
namespace gather_elements {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("needs an input and indices");
  PLIMSOLL_TRY(check_elements(node, node.input_type(1)));
  return std::vector{TensorType{node.input_type(0).type, node.input_type(1).dims}};
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  build.bound_input(1, node.input_type(0).dims[elements_axis(node)].value);
  build.task({.kernel = "GatherElementsForward",
              .attributes = to_attributes(ElementsAttrs{.axis = static_cast<int64_t>(elements_axis(node))}),
              .operands = {build.read_input(0), build.read_input(1), build.write_output(0)}});
}

void backward(TaskBuilder& build) {
  const NodeView& node = build.node();
  build.task({.kernel = "GatherElementsBackward",
              .kind = node.input(0).kind == ValueKind::parameter ? TaskKind::backward_weights : TaskKind::backward_data,
              .attributes = to_attributes(ElementsAttrs{.axis = static_cast<int64_t>(elements_axis(node))}),
              .operands = {build.read_input(1), build.read_gradient(0), build.write_gradient(0)},
              .flops = flops_per_element(node.output_type(0), 1)});
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, SampleInput x, Dims dims, DataType type, double low, double high, int64_t axis) {
    return Sample{.name = std::move(name),
                  .inputs = {std::move(x), {.dims = std::move(dims), .type = type, .low = low, .high = high}},
                  .attributes = {{"axis", axis}}};
  };
  return {sample("along_last", {.dims = {kBatch, {3}, {5}}}, {kBatch, {3}, {7}}, DataType::i64, -5, 5, -1),
          sample("along_middle", {.dims = {kBatch, {4}, {3}}}, {kBatch, {6}, {2}}, DataType::i32, 0, 4, 1),
          sample("parameter", {.dims = {{6}, {3}}, .kind = ValueKind::parameter}, {{9}, {3}}, DataType::i64, 0, 6, 0),
          sample("token_types", {.dims = {kBatch, {9}}, .type = DataType::i64, .low = -9, .high = 9}, {kBatch, {5}}, DataType::i64, 0, 9, 1)};
}

}  // namespace gather_elements

const Op op_GatherElements{.name = "GatherElements",
                           .first_opset = 11,
                           .required_inputs = 2,
                           .attributes = {attribute::integer("axis")},
                           .without_gradient = {1},
                           .infer = gather_elements::infer,
                           .forward = gather_elements::forward,
                           .backward = gather_elements::backward,
                           .any_type = true,
                           .samples = gather_elements::samples};

}  // namespace plimsoll
