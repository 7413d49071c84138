// GatedProduct: y = g(a) · b, where g is Swish (SwiGLU) or Gelu (GEGLU). In no model file: created by
// network/composites.h.
//   GatedProductForward {a, b, y}   GatedProductBackward {a, b, dy, da, db}
// A separate activation and product keep a, g(a) and b for the backward pass; this operator keeps a and b, and
// recomputes g(a).
#include "compiler/ops/activation.h"

namespace plimsoll {
namespace gatedproduct {

Attributes attributes(const NodeView& node) {
  return to_attributes(GatedProductAttrs{.gelu = node.text("activation", "Swish") == "Gelu",
                                         .by_tanh = node.text("approximate", "none") == "tanh",
                                         .alpha = node.real("alpha", 1)});
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("needs two operands");
  const TensorType &a = node.input_type(0), &b = node.input_type(1);
  if (a.type != DataType::f32 || a != b)
    return node.unsupported("its operands are " + to_string(a) + " and " + to_string(b));
  const std::string activation = node.text("activation", "Swish");
  if (activation != "Swish" && activation != "Gelu") return node.unsupported("activation is '" + activation + "'");
  return std::vector{a};
}

void forward(TaskBuilder& build) {
  build.task({.kernel = "GatedProductForward",
              .attributes = attributes(build.node()),
              .operands = {build.read_input(0), build.read_input(1), build.write_output(0)},
              .in_place = {{0, 2}, {1, 2}},
              .flops = flops_per_element(build.node().input_type(0), 21)});
}

void backward(TaskBuilder& build) {
  build.task({.kernel = "GatedProductBackward",
              .kind = TaskKind::backward_data,
              .attributes = attributes(build.node()),
              .operands = {build.read_input(0), build.read_input(1), build.read_gradient(0), build.write_gradient(0),
                           build.write_gradient(1)},
              .in_place = {{0, 3}, {1, 3}, {2, 3}, {0, 4}, {1, 4}, {2, 4}},
              .flops = flops_per_element(build.node().input_type(0), 30)});
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, Dims dims, std::string activation, std::string approximate, double alpha) {
    const SampleInput input{.dims = std::move(dims), .low = -3, .high = 3};
    return Sample{
        .name = std::move(name),
        .inputs = {input, input},
        .attributes = {
            {"activation", std::move(activation)}, {"approximate", std::move(approximate)}, {"alpha", alpha}}};
  };
  return {sample("swiglu", {kBatch, {3}, {37}}, "Swish", "none", 1), sample("geglu", {kBatch, {9}}, "Gelu", "none", 1),
          sample("tanh", {kBatch, {9}}, "Gelu", "tanh", 1),
          sample("image", {kBatch, {32}, {3}, {2}}, "Swish", "none", 1.5)};
}

}  // namespace gatedproduct

const Op op_GatedProduct{.name = "GatedProduct",
                         .last_opset = 0,
                         .infer = gatedproduct::infer,
                         .forward = gatedproduct::forward,
                         .backward = gatedproduct::backward,
                         .layout = LayoutRule::elementwise,
                         .samples = gatedproduct::samples};

}  // namespace plimsoll
