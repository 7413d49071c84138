#include "compiler/ops/binary.h"

#include <algorithm>
#include <utility>

#include "compiler/ops/whole.h"

namespace plimsoll {
namespace {

bool stretches(const TaskBuilder& build, size_t i) {
  return build.node().input_type(i).dims != build.node().output_type(0).dims;
}

// The tensor operand of a node whose other operand is a number.
size_t tensor_operand(const NodeView& node) { return number_at(node, 0) ? 1 : 0; }

}  // namespace

std::optional<double> number_at(const NodeView& node, size_t i) {
  return node.input(i).constant ? node.constant_real(i) : std::nullopt;
}

Result<std::vector<TensorType>> infer_binary(const NodeView& node) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("needs two operands");
  if (is_whole(node) && node.input_type(0).type == node.input_type(1).type) return infer_whole(node);
  const TensorType &a = node.input_type(0), &b = node.input_type(1);
  for (size_t i = 0; i < 2; ++i) {
    if (node.input_type(i).type != DataType::f32)
      return node.unsupported("operand " + std::to_string(i) + " is " + to_string(node.input_type(i)) +
                              "; only f32 has kernels");
    if (node.input(i).constant && !number_at(node, i))
      return node.unsupported("operand " + std::to_string(i) + " is a constant " + to_string(node.input_type(i)) +
                              "; a constant of more than one element has to be an initializer");
  }
  if (number_at(node, 0) && number_at(node, 1)) return node.unsupported("both operands are constants; fold them");
  PLIMSOLL_ASSIGN(const Dims dims, broadcast(node, a.dims, b.dims));
  const size_t tensor = tensor_operand(node);
  if ((number_at(node, 0) || number_at(node, 1)) && node.input_type(tensor).dims != dims)
    return node.unsupported("a constant " + to_string(node.input_type(1 - tensor).dims) + " stretches operand " +
                            to_string(node.input_type(tensor).dims) + " to " + to_string(dims));
  return std::vector{TensorType{a.type, dims}};
}

LayoutRule binary_layout(const NodeView& node) {
  const Dims& y = node.output_type(0).dims;
  if (y.size() != 4) return LayoutRule::plain;
  for (size_t i = 0; i < 2; ++i) {
    if (node.input(i).constant) continue;
    const Dims x = with_rank(node.input_type(i).dims, 4);
    const bool parameter = node.input(i).kind == ValueKind::parameter;
    const bool per_channel = x[2] == Dim{1} && x[3] == Dim{1} && (x[1] == y[1] || (x[1] == Dim{1} && parameter));
    if (!per_channel && (x[1] != y[1] || parameter || node.input_type(i).rank() != 4)) return LayoutRule::plain;
  }
  return LayoutRule::channels;
}

void forward_binary(TaskBuilder& build, std::string_view kernel, Attributes attributes) {
  if (is_whole(build.node())) return forward_whole(build);
  TaskSpec task{.kernel = std::string(kernel),
                .attributes = std::move(attributes),
                .operands = {build.read_input(0), build.read_input(1), build.write_output(0)},
                .flops = flops_per_element(build.node().output_type(0), 1)};
  for (int i = 0; i < 2; ++i)
    if (!stretches(build, static_cast<size_t>(i))) task.in_place.push_back({i, 2});
  build.task(std::move(task));
}

void forward_scaled(TaskBuilder& build, double scale, double shift) {
  if (is_whole(build.node())) return forward_whole(build);
  const size_t i = tensor_operand(build.node());
  if (scale == 1 && shift == 0) return build.alias_output(0, i);
  build.task({.kernel = "ScaleShift",
              .attributes = to_attributes(ScaleAttrs{.scale = scale, .shift = shift}),
              .operands = {build.read_input(i), build.write_output(0)},
              .in_place = {{0, 1}},
              .flops = flops_per_element(build.node().output_type(0), 2)});
}

void give_product_gradient(TaskBuilder& build, size_t i, const Operand& other) {
  if (!build.wants_gradient(i)) return;
  const bool parameter = build.node().input(i).kind == ValueKind::parameter;
  const bool sums = stretches(build, i);
  TaskSpec task{.kernel = sums ? "ProductSum" : "BinaryMul",
                .kind = parameter ? TaskKind::backward_weights : TaskKind::backward_data,
                .operands = {build.read_gradient(0), other, build.write_gradient(i)},
                .flops = flops_per_element(build.node().output_type(0), sums ? 2 : 1)};
  if (!sums) {
    task.in_place.push_back({0, 2});
    if (other.type.dims == build.node().output_type(0).dims) task.in_place.push_back({1, 2});
  }
  build.task(std::move(task));
}

void give_scaled_gradient(TaskBuilder& build, double scale) {
  const size_t i = tensor_operand(build.node());
  if (!build.wants_gradient(i)) return;
  const bool parameter = build.node().input(i).kind == ValueKind::parameter;
  if (scale == 1 || parameter) return give_summed_gradient(build, i, build.read_gradient(0), scale);
  build.task({.kernel = "ScaleShift",
              .kind = TaskKind::backward_data,
              .attributes = to_attributes(ScaleAttrs{.scale = scale}),
              .operands = {build.read_gradient(0), build.write_gradient(i)},
              .in_place = {{0, 1}},
              .flops = flops_per_element(build.node().output_type(0), 1)});
}

void give_gradient_by_both(TaskBuilder& build, size_t i, std::string_view kernel) {
  if (!build.wants_gradient(i)) return;
  const NodeView& node = build.node();
  const TensorType& y = node.output_type(0);
  const bool whole = node.input_type(i).dims == y.dims;
  const bool parameter = node.input(i).kind == ValueKind::parameter;
  const Operand slope = whole ? build.write_gradient(i) : build.write_scratch("share", y);
  TaskSpec task{.kernel = std::string(kernel),
                .kind = whole && parameter ? TaskKind::backward_weights : TaskKind::backward_data,
                .operands = {build.read_input(i), build.read_input(1 - i), build.read_gradient(0), slope},
                .in_place = {{2, 3}},
                .flops = flops_per_element(y, 2)};
  for (int slot = 0; slot < 2; ++slot)
    if (task.operands[static_cast<size_t>(slot)].type.dims == y.dims) task.in_place.push_back({slot, 3});
  build.task(std::move(task));
  if (!whole) give_summed_gradient(build, i, slope);
}

std::vector<Sample> binary_samples(double low, double high) {
  const auto sample = [&](std::string name, Dims a, Dims b, ValueKind a_kind, ValueKind b_kind) {
    return Sample{.name = std::move(name),
                  .inputs = {{.dims = std::move(a), .kind = a_kind, .low = low, .high = high},
                             {.dims = std::move(b), .kind = b_kind, .low = low, .high = high}}};
  };
  const auto number = [&](std::string name, bool first) {
    const SampleInput tensor{.dims = {kBatch, {5}}, .low = low, .high = high};
    const SampleInput constant{.kind = ValueKind::constant, .constant = {1.75}};
    return Sample{.name = std::move(name),
                  .inputs = first ? std::vector{constant, tensor} : std::vector{tensor, constant}};
  };
  constexpr ValueKind data = ValueKind::intermediate, weight = ValueKind::parameter;
  return {
      sample("images", {kBatch, {32}, {3}, {4}}, {kBatch, {32}, {3}, {4}}, data, data),
      sample("per_channel", {kBatch, {32}, {3}, {4}}, {{32}, {1}, {1}}, data, weight),
      sample("channel_of_parameter", {{1}, {32}, {1}, {1}}, {kBatch, {32}, {3}, {4}}, weight, data),
      sample("gate", {kBatch, {32}, {3}, {4}}, {kBatch, {32}, {1}, {1}}, data, data),
      sample("row", {kBatch, {3}, {5}}, {{5}}, data, weight),
      sample("column", {kBatch, {3}, {1}}, {kBatch, {1}, {5}}, data, data),
      sample("scalar", {kBatch, {5}}, {{1}}, data, weight),
      sample("same_parameter", {{3}, {4}}, {kBatch, {3}, {4}}, weight, data),
      sample("map", {{1}, {4}, {3}, {4}}, {kBatch, {4}, {3}, {4}}, weight, data),
      number("number_right", false),
      number("number_left", true),
  };
}

}  // namespace plimsoll
