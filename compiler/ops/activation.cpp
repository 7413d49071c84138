#include "compiler/ops/activation.h"

namespace plimsoll {

Result<std::vector<TensorType>> infer_same(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  const TensorType& x = node.input_type(0);
  if (x.type != DataType::f32) return node.unsupported("only f32 is supported, the input is " + to_string(x));
  return std::vector{x};
}

void forward_activation(TaskBuilder& build, const Attributes& attributes, int64_t flops) {
  build.task({.kernel = build.node().node().op + "Forward",
              .attributes = attributes,
              .operands = {build.read_input(0), build.write_output(0)},
              .in_place = {{0, 1}},
              .flops = flops_per_element(build.node().input_type(0), flops)});
}

void backward_activation(TaskBuilder& build, Remembers what, const Attributes& attributes, int64_t flops) {
  const Operand remembered = what == Remembers::output ? build.read_output(0) : build.read_input(0);
  build.task({.kernel = build.node().node().op + "Backward",
              .kind = TaskKind::backward_data,
              .attributes = attributes,
              .operands = {remembered, build.read_gradient(0), build.write_gradient(0)},
              .in_place = {{0, 2}, {1, 2}},
              .flops = flops_per_element(build.node().input_type(0), flops)});
}

void zero_gradient(TaskBuilder&) {}

void backward_by(TaskBuilder& build, std::string_view kernel, const Operand& a, const Operand& b) {
  build.task({.kernel = std::string(kernel),
              .kind = TaskKind::backward_data,
              .operands = {a, b, build.write_gradient(0)},
              .in_place = {{0, 2}, {1, 2}},
              .flops = flops_per_element(build.node().input_type(0), 1)});
}

std::vector<Sample> activation_samples(double low, double high, std::map<std::string, NodeAttribute> attributes) {
  return {{.name = "flat", .inputs = {{.dims = {kBatch, {7}}, .low = low, .high = high}}, .attributes = attributes},
          {.name = "image",
           .inputs = {{.dims = {kBatch, {32}, {3}, {2}}, .low = low, .high = high}},
           .attributes = attributes},
          {.name = "parameter",
           .inputs = {{.dims = {{5}}, .kind = ValueKind::parameter, .low = low, .high = high}},
           .attributes = attributes}};
}

}  // namespace plimsoll
