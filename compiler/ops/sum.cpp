// Sum of any number of tensors, with broadcasting: a chain of BinaryAdd {a, b, y}, accumulating in place.
// The gradient of each operand is dy, summed over broadcast dimensions; no activation is read.
#include "compiler/ops/broadcast.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace sum {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (node.input_count() == 0) return node.invalid("needs an operand");
  Dims dims = node.input_type(0).dims;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i)) return node.invalid("operand " + std::to_string(i) + " is missing");
    if (node.input(i).constant || node.input_type(i).type != DataType::f32)
      return node.unsupported("operand " + std::to_string(i) + " is " + to_string(node.input_type(i)) +
                              "; only f32 tensors have kernels");
    PLIMSOLL_ASSIGN(dims, broadcast(node, dims, node.input_type(i).dims));
  }
  return std::vector{TensorType{DataType::f32, dims}};
}

bool one_shape(const NodeView& node) {
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.input_type(i).dims != node.output_type(0).dims || node.input(i).kind == ValueKind::parameter) return false;
  return true;
}

LayoutRule layout_of(const NodeView& node) {
  return one_shape(node) ? LayoutRule::elementwise : LayoutRule::plain;
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const TensorType& y = node.output_type(0);
  const size_t n = node.input_count();
  if (n == 1) return build.alias_output(0, 0);
  Operand sum = build.read_input(0);
  for (size_t i = 1; i < n; ++i) {
    const Operand more = build.read_input(i);
    const Operand made = i + 1 == n ? build.write_output(0) : build.write_scratch("sum", y);
    TaskSpec task{.kernel = "BinaryAdd", .operands = {sum, more, made}, .flops = flops_per_element(y, 1)};
    if (sum.type.dims == y.dims) task.in_place.push_back({0, 2});
    if (more.type.dims == y.dims) task.in_place.push_back({1, 2});
    build.task(std::move(task));
    sum = as_read(made);
  }
}

void backward(TaskBuilder& build) {
  for (size_t i = 0; i < build.node().input_count(); ++i) give_summed_gradient(build, i, build.read_gradient(0));
}

std::vector<Sample> samples() {
  const SampleInput image{.dims = {kBatch, {32}, {3}, {4}}}, row{.dims = {kBatch, {5}}};
  return {
      {.name = "two", .inputs = {image, image}},
      {.name = "three", .inputs = {image, image, image}},
      {.name = "one", .inputs = {row}},
      {.name = "stretched", .inputs = {row, {.dims = {{5}}, .kind = ValueKind::parameter}, {.dims = {kBatch, {1}}}}}};
}

}  // namespace sum

const Op op_Sum{.name = "Sum",
                .first_opset = 8,
                .infer = sum::infer,
                .forward = sum::forward,
                .backward = sum::backward,
                .layout_of = sum::layout_of,
                .adds_up = adds_up_all,
                .samples = sum::samples};

}  // namespace plimsoll
