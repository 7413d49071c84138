// LayerNormalization over the axes from `axis` on, each row by its own mean and variance.
//   LayerNormForward  {x, scale, bias, y, mean, deviation}
//   LayerNormBackward {x, dy, scale, mean, deviation, dx, dscale, dbias}
// Kernels see [rows, columns]. The mean and one over the standard deviation of each row are stashed. ONNX demands a scale;
// where a model spells the normalization out without one (network/composites.h), it is absent here.
#include "compiler/ops/broadcast.h"
#include "compiler/ops/reshaping.h"
#include "runtime/attrs/layer_norm.h"

namespace plimsoll {
namespace layer_normalization {

// [rows, columns]
Result<Dims> view_of(const NodeView& node) {
  const Dims& x = node.input_type(0).dims;
  PLIMSOLL_ASSIGN(const size_t axis, axis_of(node, node.integer("axis", -1), x.size()));
  PLIMSOLL_ASSIGN(const Dim rows, product_of(node, x, 0, axis));
  PLIMSOLL_ASSIGN(const Dim columns, product_of(node, x, axis, x.size()));
  if (columns.batch) return node.unsupported("normalises over the samples of " + to_string(x));
  return Dims{rows, columns};
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("needs an input");
  const TensorType& x = node.input_type(0);
  if (x.type != DataType::f32) return node.unsupported("only f32 has kernels, the input is " + to_string(x));
  PLIMSOLL_ASSIGN(const Dims view, view_of(node));
  for (size_t i = 1; i < 3; ++i) {
    if (!node.has_input(i)) continue;
    const Dims& dims = node.input_type(i).dims;
    if (node.input_type(i).depends_on_batch() || node.input_type(i).elements().fixed != view[1].value)
      return node.unsupported("input " + std::to_string(i) + " is " + to_string(dims) + " when " +
                              std::to_string(view[1].value) + " elements of " + to_string(x.dims) + " are normalised together");
  }
  return std::vector{x};
}

LayerNormAttrs attrs_of(const NodeView& node) { return {.epsilon = node.real("epsilon", 1e-5)}; }

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const Dims view = view_of(node).value(), row = {view[1]};
  const bool trained = build.wants_gradient(0) || build.wants_gradient(1) || build.wants_gradient(2);
  const auto stash = [&](const char* what) {
    return trained ? build.write_stash(what, {DataType::f32, {view[0]}}) : Operand{};
  };
  build.task({.kernel = "LayerNormForward",
              .attributes = to_attributes(attrs_of(node)),
              .operands = {viewed(build.read_input(0), view), viewed(build.read_input(1), row), viewed(build.read_input(2), row),
                           viewed(build.write_output(0), view), stash("mean"), stash("deviation")},
              .in_place = {{0, 3}},
              .flops = flops_per_element(node.input_type(0), 8)});
}

void backward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const Dims view = view_of(node).value(), row = {view[1]};
  build.task({.kernel = "LayerNormBackward",
              .kind = TaskKind::backward,
              .attributes = to_attributes(attrs_of(node)),
              .operands = {viewed(build.read_input(0), view), viewed(build.read_gradient(0), view),
                           viewed(build.read_input(1), row), build.read_stash("mean"), build.read_stash("deviation"),
                           viewed(build.write_gradient(0), view), viewed(build.write_gradient(1), row),
                           viewed(build.write_gradient(2), row)},
              .in_place = {{1, 5}, {0, 5}},
              .flops = flops_per_element(node.input_type(0), 14)});
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, Dims x, Dims row, int64_t axis, size_t inputs) {
    std::vector<SampleInput> all = {{.dims = std::move(x), .low = -1, .high = 2},
                                    {.dims = row, .kind = ValueKind::parameter, .low = 0.5, .high = 1.5},
                                    {.dims = row, .kind = ValueKind::parameter}};
    all.resize(inputs);
    return Sample{.name = std::move(name), .inputs = std::move(all), .attributes = {{"axis", axis}}};
  };
  return {sample("tokens", {kBatch, {3}, {37}}, {{37}}, -1, 3), sample("image", {kBatch, {2}, {3}, {4}}, {{2}, {3}, {4}}, 1, 3),
          sample("rows", {kBatch, {64}}, {{64}}, -1, 3), sample("unbiased", {kBatch, {5}, {8}}, {{8}}, 2, 2),
          sample("plain", {kBatch, {9}}, {{9}}, -1, 1)};
}

}  // namespace layer_normalization

const Op op_LayerNormalization{.name = "LayerNormalization",
                               .first_opset = 17,
                               .inputs = {Slot::data, Slot::weight, Slot::weight},
                               .required_inputs = 2,
                               .most_outputs = 3,
                               .attributes = {attribute::integer("axis").since(17),
                                              attribute::real("epsilon").since(17),
                                              attribute::integer("stash_type").since(17)},
                               .samples_rule = SamplesRule::first_input,
                               .infer = layer_normalization::infer,
                               .forward = layer_normalization::forward,
                               .backward = layer_normalization::backward,
                               .samples = layer_normalization::samples};

}  // namespace plimsoll
