// TopK: the k largest (or smallest) elements along an axis in order, and their indices; among equal elements the first.
//   TopK {x, values, indices}   GatherElementsBackward {indices, dvalues, dx}
#include "compiler/ops/broadcast.h"
#include "compiler/ops/pick.h"
#include "compiler/ops/reshaping.h"

namespace plimsoll {
namespace top_k {

Result<int64_t> k_of(const NodeView& node) {
  if (node.opset() < 10) return node.integer("k", 0);
  const auto given = node.constant_integers(1);
  if (!given || given->size() != 1) return node.unsupported("k (input 1) is not known at compile time");
  return (*given)[0];
}

Dims view_of(const NodeView& node, int64_t k) {
  const PickView view = pick_view(node, node.integer("axis", -1)).value();
  return {view.outer, {k}, view.inner};
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  PLIMSOLL_ASSIGN(const PickView view, pick_view(node, node.integer("axis", -1)));
  PLIMSOLL_ASSIGN(const int64_t k, k_of(node));
  if (k < 1 || k > view.n)
    return node.invalid("k is " + std::to_string(k) + ", expected 1 to " + std::to_string(view.n));
  TensorType values{node.input_type(0).type, node.input_type(0).dims};
  values.dims[view.axis] = {k};
  return std::vector{values, TensorType{DataType::i64, values.dims}};
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const int64_t k = k_of(node).value();
  const Dims picked = view_of(node, k);
  Operand values = build.write_output(0);
  Operand indices = build.write_output(1);
  if (indices.access == Access::absent)
    indices = build.write_stash("indices", {DataType::i64, node.output_type(0).dims});
  build.task(
      {.kernel = "TopK",
       .attributes = to_attributes(PickAttrs{.least = node.integer("largest", 1) == 0}),
       .operands = {viewed(build.read_input(0), view_of(node, pick_view(node, node.integer("axis", -1)).value().n)),
                    viewed(values, picked), viewed(indices, picked)},
       .flops = flops_per_element(node.input_type(0), k)});
}

void backward(TaskBuilder& build) {
  const NodeView& node = build.node();
  if (!build.has_gradient(0)) return;
  const int64_t k = k_of(node).value();
  const Operand indices = node.has_output(1) ? build.read_output(1) : build.read_stash("indices");
  build.task({.kernel = "GatherElementsBackward",
              .kind = node.input(0).kind == ValueKind::parameter ? TaskKind::backward_weights : TaskKind::backward_data,
              .attributes = to_attributes(ElementsAttrs{.axis = 1}),
              .operands = {viewed(indices, view_of(node, k)), viewed(build.read_gradient(0), view_of(node, k)),
                           viewed(build.write_gradient(0),
                                  view_of(node, pick_view(node, node.integer("axis", -1)).value().n))},
              .flops = flops_per_element(node.output_type(0), 1)});
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, SampleInput x, double k, int64_t axis, int64_t largest, int outputs) {
    return Sample{
        .name = std::move(name),
        .inputs = {std::move(x), {.dims = {{1}}, .kind = ValueKind::constant, .constant = {k}, .type = DataType::i64}},
        .attributes = {{"axis", axis}, {"largest", largest}},
        .outputs = outputs};
  };
  // A wide range keeps ties farther apart than the steps of finite differences.
  const SampleInput x{.dims = {kBatch, {6}, {3}}, .low = -30, .high = 30};
  return {sample("experts", {.dims = {kBatch, {8}}, .low = -30, .high = 30}, 2, -1, 1, 2),
          sample("middle", x, 3, 1, 1, 2), sample("least", x, 2, 2, 0, 2), sample("values", x, 6, 1, 1, 1)};
}

}  // namespace top_k

const Op op_TopK{.name = "TopK",
                 .inputs = {Slot::data, Slot::constant},
                 .most_outputs = 2,
                 .attributes = {attribute::integer("axis"), attribute::integer("k").until(9),
                                attribute::integer("largest").since(11), attribute::integer("sorted").since(11)},
                 .infer = top_k::infer,
                 .forward = top_k::forward,
                 .backward = top_k::backward,
                 .any_type = true,
                 .samples = top_k::samples};

}  // namespace plimsoll
