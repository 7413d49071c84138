// Rotary: pairs of elements of a row are turned by angles (Su et al., RoFormer, 2021). In no model file: created by
// network/composites.h, and from ONNX's RotaryEmbedding (network/simplify/spellings_attention.cpp).
//   Rotary {x, cos, sin, y}   forward;   Rotary {dy, cos, sin, dx}   backward
//   x, y [d…, D]; cos and sin broadcast to x in d…, and have D elements a row, or one per pair: D / 2
//
//   a pair (a, b) is (x[i], x[i + D/2]); with `interleaved` (x[2i], x[2i + 1])
//     y = (a · cos - b · sin, b · cos + a · sin)
//
// Spelled out, these are seven tasks that read and write the whole tensor. The angles are not trained: the pattern does
// not match others.
#include "compiler/ops/op.h"
#include "runtime/attrs/rotary.h"

namespace plimsoll {
namespace rotary {

bool broadcasts(const Dims& table, const Dims& x) {
  if (table.empty() || table.size() > x.size()) return false;
  for (size_t i = 0; i + 1 < table.size(); ++i) {
    const Dim dim = table[i];
    if (dim != Dim{1} && dim != x[x.size() - table.size() + i]) return false;
  }
  return true;
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  for (size_t i = 0; i < 3; ++i)
    if (!node.has_input(i)) return node.invalid("needs rows, cosines and sines");
  const TensorType &x = node.input_type(0), &cos = node.input_type(1), &sin = node.input_type(2);
  const auto refuse = [&] {
    return node.unsupported("its operands are " + to_string(x) + ", " + to_string(cos) + " and " + to_string(sin));
  };
  for (const TensorType* type : {&x, &cos, &sin})
    if (type->type != DataType::f32 || type->dims.empty() || type->dims.back().batch) return refuse();
  const int64_t length = x.dims.back().value, angles = cos.dims.back().value;
  if (length % 2 != 0 || cos.dims != sin.dims || (angles != length && 2 * angles != length) ||
      !broadcasts(cos.dims, x.dims))
    return refuse();
  return std::vector{x};
}

Attributes attributes(const NodeView& node, bool backward) {
  return to_attributes(RotaryAttrs{.interleaved = node.integer("interleaved", 0) != 0, .backward = backward});
}

void forward(TaskBuilder& build) {
  build.task({.kernel = "Rotary",
              .attributes = attributes(build.node(), false),
              .operands = {build.read_input(0), build.read_input(1), build.read_input(2), build.write_output(0)},
              .in_place = {{0, 3}},
              .flops = flops_per_element(build.node().output_type(0), 3)});
}

void backward(TaskBuilder& build) {
  build.task({.kernel = "Rotary",
              .kind = TaskKind::backward_data,
              .attributes = attributes(build.node(), true),
              .operands = {build.read_gradient(0), build.read_input(1), build.read_input(2), build.write_gradient(0)},
              .in_place = {{0, 3}},
              .flops = flops_per_element(build.node().output_type(0), 3)});
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, Dims x, Dims angles, int64_t interleaved) {
    return Sample{.name = std::move(name),
                  .inputs = {{.dims = std::move(x)}, {.dims = angles}, {.dims = angles}},
                  .attributes = {{"interleaved", interleaved}}};
  };
  return {sample("heads", {kBatch, {3}, {5}, {8}}, {{1}, {1}, {5}, {8}}, 0),
          sample("halves", {kBatch, {5}, {2}, {6}}, {kBatch, {5}, {1}, {3}}, 0),
          sample("neighbours", {kBatch, {3}, {5}, {8}}, {{5}, {8}}, 1),
          sample("angle per pair", {kBatch, {2}, {34}}, {kBatch, {1}, {17}}, 1)};
}

}  // namespace rotary

const Op op_Rotary{.name = "Rotary",
                   .first_opset = 0,
                   .last_opset = 0,
                   .without_gradient = {1, 2},
                   .infer = rotary::infer,
                   .forward = rotary::forward,
                   .backward = rotary::backward,
                   .samples = rotary::samples};

}  // namespace plimsoll
