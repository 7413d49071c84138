#include "compiler/ops/channel_normalization.h"

#include "compiler/ops/broadcast.h"
#include "compiler/ops/reshaping.h"
#include "runtime/attrs/group_norm.h"

namespace plimsoll {
namespace {

// [groups of all samples, elements of a group]
Result<Dims> groups_and_elements(const NodeView& node, int64_t groups) {
  const Dims& x = node.input_type(0).dims;
  PLIMSOLL_ASSIGN(const Dim elements, product_of(node, x, 1, x.size()));
  PLIMSOLL_ASSIGN(const Dim rows, product_of(node, {x[0], {groups}}, 0, 2));
  return Dims{rows, {elements.value / groups}};
}

bool has_swish(const NodeView& node) { return node.node().marks.activation == FusedActivation::swish; }

Attributes group_attributes(const NodeView& node, int64_t groups) {
  return to_attributes(
      GroupNormAttrs{.epsilon = node.real("epsilon", 1e-5), .groups = groups, .swish = has_swish(node)});
}

// An activation as [groups of all samples, elements of a group]. Blocks of channels are not contiguous in a group, so
// kernels see them as they are.
Operand as_groups(const Operand& activation, const Dims& view) {
  return activation.type.layout == Layout::plain ? viewed(activation, view) : activation;
}

// The scale or the bias as one row.
Dims factors_of(const NodeView& node, size_t i) {
  return node.has_input(i) ? Dims{{node.input_type(i).elements().fixed}} : Dims{};
}

}  // namespace

Result<int64_t> channels_of(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  const Dims& x = node.input_type(0).dims;
  if (x.size() < 3) return node.invalid("its input is " + to_string(x) + ", expected [N, C, spatial…]");
  for (size_t axis = 1; axis < x.size(); ++axis)
    if (x[axis].batch) return node.unsupported("normalizes over the batch of " + to_string(x));
  return x[1].value;
}

Result<std::vector<TensorType>> infer_channel_normalization(const NodeView& node, int64_t groups, int64_t factors) {
  const TensorType& x = node.input_type(0);
  if (x.type != DataType::f32) return node.unsupported("only f32 is supported, the input is " + to_string(x));
  PLIMSOLL_TRY(groups_and_elements(node, groups));
  for (size_t i = 1; i < 3; ++i) {
    if (!node.has_input(i)) return node.invalid("its input " + std::to_string(i) + " is missing");
    const TensorType& given = node.input_type(i);
    if (given.type != DataType::f32)
      return node.unsupported("only f32 is supported, input " + std::to_string(i) + " is " + to_string(given));
    if (given.depends_on_batch() || given.elements().fixed != factors)
      return node.invalid("input " + std::to_string(i) + " is not one number for each of " + std::to_string(factors) +
                          (factors == x.dims[1].value ? " channels" : " groups"));
  }
  return std::vector{x};
}

void forward_channel_normalization(TaskBuilder& build, int64_t groups) {
  const NodeView& node = build.node();
  const Dims view = groups_and_elements(node, groups).value();
  const bool trained = build.wants_gradient(0) || build.wants_gradient(1) || build.wants_gradient(2);
  const auto stash = [&](const char* name) {
    return trained ? build.write_stash(name, {DataType::f32, {view[0]}}) : Operand{};
  };
  build.task({.kernel = "GroupNormForward",
              .attributes = group_attributes(node, groups),
              .operands = {as_groups(build.read_input(0), view), viewed(build.read_input(1), factors_of(node, 1)),
                           viewed(build.read_input(2), factors_of(node, 2)), as_groups(build.write_output(0), view),
                           stash("mean"), stash("deviation")},
              .in_place = {{0, 3}},
              .flops = flops_per_element(node.input_type(0), 8 + flops_of(node.node().marks.activation).forward)});
}

void backward_channel_normalization(TaskBuilder& build, int64_t groups) {
  const NodeView& node = build.node();
  const Dims view = groups_and_elements(node, groups).value();
  const int64_t of_slope = flops_of(node.node().marks.activation).backward;  // in both passes
  TaskSpec task{.kernel = "GroupNormBackward",
                .kind = TaskKind::backward,
                .attributes = group_attributes(node, groups),
                .operands = {as_groups(build.read_input(0), view), as_groups(build.read_gradient(0), view),
                             viewed(build.read_input(1), factors_of(node, 1)), build.read_stash("mean"),
                             build.read_stash("deviation"), as_groups(build.write_gradient(0), view),
                             viewed(build.write_gradient(1), factors_of(node, 1)),
                             viewed(build.write_gradient(2), factors_of(node, 2))},
                .in_place = {{1, 5}, {0, 5}},
                .flops = flops_per_element(node.input_type(0), 14 + 2 * of_slope),
                .twice = {0, 1}};
  if (has_swish(node)) {
    task.operands.push_back(viewed(build.read_input(2), factors_of(node, 2)));
    task.in_place = {{1, 5}};  // kernels may write to dx before they have read x for the last time
  }
  build.task(std::move(task));
}

Sample channel_normalization_sample(std::string name, Dims x, int64_t factors,
                                    std::map<std::string, NodeAttribute> attributes) {
  return {.name = std::move(name),
          .inputs = {{.dims = std::move(x), .low = -1, .high = 2},
                     {.dims = {{factors}}, .kind = ValueKind::parameter, .low = 0.5, .high = 1.5},
                     {.dims = {{factors}}, .kind = ValueKind::parameter}},
          .attributes = std::move(attributes),
          .opset = 21};
}

}  // namespace plimsoll
