// Pad with a constant; negative pads crop.   Pad {x, y}
// The gradient is the same kernel with negated pads: it crops the padding.
// Pad with elements of the input (edge, reflect, wrap) along one axis.   PadAxis {x, y}   PadAxisBackward {dy, dx}
// compiler/network/simplify/spellings_padding.cpp rewrites a Pad along several axes as one node per axis.
#include "compiler/ops/broadcast.h"
#include "compiler/ops/op.h"
#include "compiler/ops/reshaping.h"
#include "compiler/ops/whole.h"
#include "runtime/attrs/pad.h"

namespace plimsoll {
namespace pad {

struct Pads {
  std::vector<int64_t> begin, end;  // per axis of the input
  double value = 0;
};

// Attributes in opsets 2 to 10, inputs since 11, for a subset of the axes since 18.
Result<Pads> pads_of(const NodeView& node) {
  const size_t rank = node.input_type(0).rank();
  std::vector<int64_t> pads, axes;
  Pads found{.begin = std::vector<int64_t>(rank, 0), .end = std::vector<int64_t>(rank, 0)};
  if (node.opset() < 11) {
    pads = node.integers("pads");
    found.value = node.real("value", 0);
  } else {
    const auto given = node.constant_integers(1);
    if (!given) return node.unsupported("the pads are not constant");
    pads = *given;
    if (node.has_input(2)) {
      const auto value = node.constant_real(2);
      if (!value) return node.unsupported("the padding's value is not constant");
      found.value = *value;
    }
  }
  if (node.has_input(3)) {
    const auto given = node.constant_integers(3);
    if (!given) return node.unsupported("the axes are not constant");
    axes = *given;
  } else {
    for (size_t axis = 0; axis < rank; ++axis) axes.push_back(static_cast<int64_t>(axis));
  }
  if (pads.size() != 2 * axes.size())
    return node.invalid(std::to_string(pads.size()) + " pads for " + std::to_string(axes.size()) + " axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + static_cast<int64_t>(rank) : axes[i];
    if (axis < 0 || axis >= static_cast<int64_t>(rank))
      return node.invalid("axis " + std::to_string(axes[i]) + " is out of range");
    found.begin[static_cast<size_t>(axis)] = pads[i];
    found.end[static_cast<size_t>(axis)] = pads[axes.size() + i];
  }
  return found;
}

bool is_constant(const NodeView& node) { return node.text("mode", "constant") == "constant"; }

// The padded axis, and how it is padded. Axis 0 if no axis is padded.
Result<PadAxisAttrs> by_axis(const NodeView& node, const Pads& pads) {
  PadAxisAttrs attrs;
  if (const std::string mode = node.text("mode", ""); mode == "reflect") attrs.mode = PadAxisAttrs::kReflect;
  else if (mode == "wrap") attrs.mode = PadAxisAttrs::kWrap;
  else if (mode != "edge") return node.invalid("mode '" + mode + "' is not one of constant, reflect, edge, wrap");
  int axes = 0;
  for (size_t axis = 0; axis < pads.begin.size(); ++axis) {
    if (pads.begin[axis] == 0 && pads.end[axis] == 0) continue;
    if (++axes > 1)
      return node.unsupported("mode '" + node.text("mode", "") + "' pads several axes; only one is supported");
    attrs.axis = static_cast<int64_t>(axis);
    attrs.begin = pads.begin[axis];
  }
  return attrs;
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  PLIMSOLL_ASSIGN(const Pads pads, pads_of(node));
  if (!is_constant(node)) PLIMSOLL_TRY(by_axis(node, pads));
  if (!is_constant(node) && is_whole_input(node))
    return node.unsupported("mode '" + node.text("mode", "") + "' is supported for f32 only");
  TensorType y = node.input_type(0);
  constexpr int64_t kLargest = int64_t{1} << 40;
  for (size_t axis = 0; axis < y.rank(); ++axis) {
    const int64_t begin = pads.begin[axis], end = pads.end[axis];
    if (begin == 0 && end == 0) continue;
    if (y.dims[axis].batch) return node.unsupported("padding of the batch");
    if (begin < -kLargest || begin > kLargest || end < -kLargest || end > kLargest)
      return node.invalid("pads of " + std::to_string(begin) + " and " + std::to_string(end));
    y.dims[axis].value += begin + end;
    if (y.dims[axis].value < 1)
      return node.invalid("pads of " + std::to_string(begin) + " and " + std::to_string(end) + " remove all of " +
                          to_string(node.input_type(0).dims));
  }
  return std::vector{y};
}

bool is_nothing(const Pads& pads) {
  for (size_t axis = 0; axis < pads.begin.size(); ++axis)
    if (pads.begin[axis] != 0 || pads.end[axis] != 0) return false;
  return true;
}

PadAttrs attrs_of(const Pads& pads, int64_t sign) {
  PadAttrs attrs{.value = sign > 0 ? pads.value : 0};
  for (const int64_t begin : pads.begin) attrs.begin.push_back(sign * begin);
  return attrs;
}

void forward(TaskBuilder& build) {
  const Pads pads = pads_of(build.node()).value();
  if (is_nothing(pads)) return build.alias_output(0, 0);
  if (!is_constant(build.node()))
    return build.task({.kernel = "PadAxis",
                       .attributes = to_attributes(by_axis(build.node(), pads).value()),
                       .operands = {build.read_input(0), build.write_output(0)}});
  build.task({.kernel = "Pad",
              .attributes = to_attributes(attrs_of(pads, 1)),
              .operands = {build.read_input(0), build.write_output(0)}});
}

void backward(TaskBuilder& build) {
  const Pads pads = pads_of(build.node()).value();
  const bool parameter = build.node().input(0).kind == ValueKind::parameter;
  if (is_nothing(pads)) return backward_alias(build);
  if (!is_constant(build.node()))
    return build.task({.kernel = "PadAxisBackward",
                       .kind = parameter ? TaskKind::backward_weights : TaskKind::backward_data,
                       .attributes = to_attributes(by_axis(build.node(), pads).value()),
                       .operands = {build.read_gradient(0), build.write_gradient(0)},
                       .flops = flops_per_element(build.node().output_type(0), 1)});
  // The kernel overwrites its result, but the gradient of a parameter may have to be accumulated.
  const Operand cut = parameter ? build.write_scratch("cut", build.node().input_type(0)) : build.write_gradient(0);
  build.task({.kernel = "Pad",
              .kind = TaskKind::backward_data,
              .attributes = to_attributes(attrs_of(pads, -1)),
              .operands = {build.read_gradient(0), cut}});
  if (parameter) give_summed_gradient(build, 0, cut);
}

// Channel blocks stay intact if only pixels are padded. A parameter has no blocks.
LayoutRule layout_of(const NodeView& node) {
  if (node.input(0).kind == ValueKind::parameter) return LayoutRule::plain;
  const Pads pads = pads_of(node).value();
  const bool pixels_only = pads.begin.size() == 4 && pads.begin[1] == 0 && pads.end[1] == 0;
  return pixels_only ? LayoutRule::channels : LayoutRule::plain;
}

std::optional<Moves> moves(const NodeView& node) {
  const auto pads = pads_of(node);
  if (!pads.ok() || !is_constant(node)) return std::nullopt;
  Moves moves;
  moves.fill = pads->value;
  for (size_t axis = 0; axis < pads->begin.size(); ++axis) {
    moves.axis.push_back(static_cast<int64_t>(axis));
    moves.start.push_back(-pads->begin[axis]);
    moves.step.push_back(1);
  }
  return moves;
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, Dims x, std::vector<double> pads, double value) {
    const Dims count = {{static_cast<int64_t>(pads.size())}};
    return Sample{
        .name = std::move(name),
        .inputs = {{.dims = std::move(x)},
                   {.dims = count, .kind = ValueKind::constant, .constant = std::move(pads), .type = DataType::i64},
                   {.kind = ValueKind::constant, .constant = {value}}}};
  };
  const auto like = [&](std::string name, const char* mode, Dims x, std::vector<double> pads) {
    Sample made = sample(std::move(name), std::move(x), std::move(pads), 0);
    made.inputs.pop_back();
    made.attributes = {{"mode", std::string(mode)}};
    return made;
  };
  const auto whole = [&](std::string name, DataType type, double value) {
    Sample made = sample(std::move(name), {kBatch, {5}}, {0, -1, 0, 2}, value);
    made.inputs[0].type = made.inputs[2].type = type;
    made.inputs[0].low = 0;
    made.inputs[0].high = 2;
    return made;
  };
  Sample parameter = sample("parameter", {{3}, {4}}, {1, 0, 0, -1}, 2);
  Sample edge_parameter = like("edge_parameter", "edge", {{3}, {4}}, {0, 2, 0, 1});
  parameter.inputs[0].kind = edge_parameter.inputs[0].kind = ValueKind::parameter;
  // Before a MaxPool.
  Sample infinite = sample("infinite", {kBatch, {2}, {3}, {4}}, {0, 0, 0, 0, 0, 0, 1, 1}, -kInfinity);
  infinite.check_gradient = false;  // finite differences need finite values
  return {
      parameter,
      edge_parameter,
      like("edge", "edge", {kBatch, {2}, {3}, {4}}, {0, 0, 2, 0, 0, 0, 1, 0}),
      like("edge_one", "edge", {kBatch, {1}, {3}}, {0, 2, 0, 0, 1, 0}),
      like("edge_cut", "edge", {kBatch, {5}, {3}}, {0, -2, 0, 0, 2, 0}),
      like("reflect", "reflect", {kBatch, {2}, {3}, {5}}, {0, 0, 0, 2, 0, 0, 0, 3}),
      like("reflect_blocked", "reflect", {kBatch, {32}, {3}, {2}}, {0, 0, 1, 0, 0, 0, 2, 0}),
      like("reflect_far", "reflect", {kBatch, {3}, {4}}, {0, 7, 0, 0, 6, 0}),
      like("wrap", "wrap", {kBatch, {4}, {3}}, {0, 1, 0, 0, 2, 0}),
      like("wrap_blocked", "wrap", {kBatch, {16}, {3}, {2}}, {0, 0, 0, 1, 0, 0, 0, 2}),
      like("wrap_far", "wrap", {kBatch, {3}}, {0, 4, 0, 9}),
      sample("image", {kBatch, {2}, {3}, {4}}, {0, 0, 1, 2, 0, 0, 0, 1}, 0.5),
      sample("channels", {kBatch, {2}, {3}, {2}}, {0, 1, 0, 0, 0, 2, 0, 1}, 0),
      sample("cut", {kBatch, {2}, {5}, {4}}, {0, 0, -1, 1, 0, 0, 2, -2}, 0),
      sample("blocked", {kBatch, {16}, {3}, {2}}, {0, 0, 1, 1, 0, 0, 2, 0}, -1),
      whole("labels", DataType::i64, -100), whole("narrow", DataType::i32, 7), whole("mask", DataType::u8, 1),
      sample("flat", {kBatch, {5}}, {0, 1, 0, 2}, 0), infinite,
      sample("nothing", {kBatch, {5}}, {0, 0, 0, 0}, 0),
      Sample{.name = "attributes",
             .inputs = {{.dims = {kBatch, {3}}}},
             .attributes = {{"pads", std::vector<int64_t>{0, 1, 0, 0}}},
             .opset = 7},
      Sample{.name = "axes",
             .inputs = {{.dims = {kBatch, {2}, {3}}},
                        {.dims = {{2}}, .kind = ValueKind::constant, .constant = {1, 2}, .type = DataType::i64},
                        {.kind = ValueKind::constant},
                        {.dims = {{1}}, .kind = ValueKind::constant, .constant = {-1}, .type = DataType::i64}}},
  };
}

constexpr std::string_view kModes[] = {"constant", "reflect", "edge", "wrap"};

}  // namespace pad

const Op op_Pad{.name = "Pad",
                .first_opset = 2,
                .inputs = {Slot::data, Slot::constant, Slot::constant, Slot::constant},
                .attributes = {attribute::text("mode", pad::kModes), attribute::integers("pads").until(10),
                               attribute::real("value").until(10)},
                .elements = Elements::selected,
                .infer = pad::infer,
                .forward = pad::forward,
                .backward = pad::backward,
                .any_type = true,
                .layout_of = pad::layout_of,
                .moves = pad::moves,
                .samples = pad::samples};

}  // namespace plimsoll
