#include "compiler/ops/pick.h"

#include "compiler/ops/broadcast.h"
#include "compiler/ops/reshaping.h"

namespace plimsoll {

Result<PickView> pick_view(const NodeView& node, int64_t given) {
  const Dims& x = node.input_type(0).dims;
  PickView view;
  PLIMSOLL_ASSIGN(view.axis, axis_of(node, given, x.size()));
  if (x[view.axis].batch) return node.unsupported("selects from the batch of " + to_string(x));
  PLIMSOLL_ASSIGN(view.outer, product_of(node, x, 0, view.axis));
  PLIMSOLL_ASSIGN(view.inner, product_of(node, x, view.axis + 1, x.size()));
  view.n = x[view.axis].value;
  return view;
}

Result<std::vector<TensorType>> infer_arg(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  PLIMSOLL_ASSIGN(const PickView view, pick_view(node, node.integer("axis", 0)));
  Dims dims = node.input_type(0).dims;
  if (node.integer("keepdims", 1) != 0) dims[view.axis] = {1};
  else dims.erase(dims.begin() + static_cast<int64_t>(view.axis));
  return std::vector{TensorType{DataType::i64, dims}};
}

void forward_arg(TaskBuilder& build, bool least) {
  const NodeView& node = build.node();
  const PickView view = pick_view(node, node.integer("axis", 0)).value();
  build.task({.kernel = "ArgPick",
              .attributes = to_attributes(PickAttrs{.least = least, .last = node.integer("select_last_index", 0) != 0}),
              .operands = {viewed(build.read_input(0), {view.outer, {view.n}, view.inner}),
                           viewed(build.write_output(0), {view.outer, view.inner})},
              .flops = flops_per_element(node.input_type(0), 1)});
}

std::vector<Sample> arg_samples() {
  return {{.name = "classes",
           .inputs = {{.dims = {kBatch, {9}}}},
           .attributes = {{"axis", int64_t{-1}}, {"keepdims", int64_t{0}}}},
          {.name = "middle", .inputs = {{.dims = {kBatch, {5}, {3}}}}, .attributes = {{"axis", int64_t{1}}}},
          {.name = "tokens",
           .inputs = {{.dims = {kBatch, {7}}, .type = DataType::i64, .low = 0, .high = 3}},
           .attributes = {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}, {"select_last_index", int64_t{1}}}}};
}

}  // namespace plimsoll
