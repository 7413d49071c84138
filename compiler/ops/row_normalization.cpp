#include "compiler/ops/row_normalization.h"

#include "compiler/ops/broadcast.h"
#include "compiler/ops/reshaping.h"
#include "runtime/attrs/layer_norm.h"

namespace plimsoll {
namespace {

// [rows, columns]
Result<Dims> rows_and_columns(const NodeView& node) {
  const Dims& x = node.input_type(0).dims;
  PLIMSOLL_ASSIGN(const size_t axis, axis_of(node, node.integer("axis", -1), x.size()));
  PLIMSOLL_ASSIGN(const Dim rows, product_of(node, x, 0, axis));
  PLIMSOLL_ASSIGN(const Dim columns, product_of(node, x, axis, x.size()));
  if (columns.batch) return node.unsupported("normalizes over the batch of " + to_string(x));
  return Dims{rows, columns};
}

Attributes normalization_attributes(const NodeView& node) {
  return to_attributes(LayerNormAttrs{.epsilon = node.real("epsilon", 1e-5)});
}

}  // namespace

Result<std::vector<TensorType>> infer_row_normalization(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  const TensorType& x = node.input_type(0);
  if (x.type != DataType::f32) return node.unsupported("only f32 is supported, the input is " + to_string(x));
  PLIMSOLL_ASSIGN(const Dims view, rows_and_columns(node));
  for (size_t i = 1; i < 3; ++i) {
    if (!node.has_input(i)) continue;
    const Dims& dims = node.input_type(i).dims;
    if (node.input_type(i).depends_on_batch() || node.input_type(i).elements().fixed != view[1].value)
      return node.unsupported("input " + std::to_string(i) + " is " + to_string(dims) + ", but " +
                              std::to_string(view[1].value) + " elements of " + to_string(x.dims) +
                              " are normalized together");
  }
  return std::vector{x};
}

void forward_row_normalization(TaskBuilder& build, const RowNormalization& what) {
  const NodeView& node = build.node();
  const Dims view = rows_and_columns(node).value(), row = {view[1]};
  const bool trained = build.wants_gradient(0) || build.wants_gradient(1) || build.wants_gradient(2);
  const auto stash = [&](const char* name) {
    return trained ? build.write_stash(name, {DataType::f32, {view[0]}}) : Operand{};
  };
  build.task({.kernel = what.kernel + "Forward",
              .attributes = normalization_attributes(node),
              .operands = {viewed(build.read_input(0), view), viewed(build.read_input(1), row),
                           viewed(build.read_input(2), row), viewed(build.write_output(0), view),
                           what.centered ? stash("mean") : Operand{}, stash("deviation")},
              .in_place = {{0, 3}},
              .flops = flops_per_element(node.input_type(0), 8)});
}

void backward_row_normalization(TaskBuilder& build, const RowNormalization& what) {
  const NodeView& node = build.node();
  const Dims view = rows_and_columns(node).value(), row = {view[1]};
  build.task({.kernel = what.kernel + "Backward",
              .kind = TaskKind::backward,
              .attributes = normalization_attributes(node),
              .operands = {viewed(build.read_input(0), view), viewed(build.read_gradient(0), view),
                           viewed(build.read_input(1), row), what.centered ? build.read_stash("mean") : Operand{},
                           build.read_stash("deviation"), viewed(build.write_gradient(0), view),
                           viewed(build.write_gradient(1), row), viewed(build.write_gradient(2), row)},
              .in_place = {{1, 5}, {0, 5}},
              .flops = flops_per_element(node.input_type(0), 14)});
}

Sample row_normalization_sample(std::string name, Dims x, Dims row, int64_t axis, size_t inputs) {
  std::vector<SampleInput> all = {{.dims = std::move(x), .low = -1, .high = 2},
                                  {.dims = row, .kind = ValueKind::parameter, .low = 0.5, .high = 1.5},
                                  {.dims = row, .kind = ValueKind::parameter}};
  all.resize(inputs);
  return {.name = std::move(name), .inputs = std::move(all), .attributes = {{"axis", axis}}};
}

}  // namespace plimsoll
