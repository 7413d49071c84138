// Split along an axis, into given lengths or equal parts.   Split {x, y0, y1, …}   Concat {dy0, dy1, …, dx}
// If no gradient arrives for a part, zeros replace it:   Zero {y}
#include <numeric>

#include "compiler/ops/pieces.h"
#include "compiler/ops/reshaping.h"
#include "compiler/ops/whole.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace split_operator {

size_t axis(const NodeView& node) { return axis_of(node, node.integer("axis", 0), node.input_type(0).rank()).value(); }

Result<std::vector<int64_t>> extents_of(const NodeView& node, int64_t whole) {
  const size_t parts = node.node().outputs.size();
  std::vector<int64_t> extents = node.integers("split");
  if (node.has_input(1)) {
    const auto given = node.constant_integers(1);
    if (!given) return node.unsupported("the lengths (input 1) are not known at compile time");
    extents = *given;
  }
  if (extents.empty()) {
    const int64_t count = node.integer("num_outputs", static_cast<int64_t>(parts));
    if (count < 1) return node.invalid("num_outputs is " + std::to_string(count));
    const int64_t each = (whole + count - 1) / count;
    if (node.has("num_outputs") ? each * (count - 1) >= whole : whole % count != 0)
      return node.invalid(std::to_string(whole) + " cannot be split into " + std::to_string(count) + " parts");
    extents.assign(static_cast<size_t>(count), each);
    extents.back() = whole - each * (count - 1);
  }
  int64_t sum = 0;
  for (const int64_t extent : extents) {
    if (extent < 1 || extent > whole) return node.unsupported("a part of length " + std::to_string(extent));
    sum += extent;
  }
  if (sum != whole || extents.size() != parts)
    return node.invalid(std::to_string(extents.size()) + " lengths that sum to " + std::to_string(sum) + " for " +
                        std::to_string(parts) + " parts of " + std::to_string(whole));
  return extents;
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  const TensorType& x = node.input_type(0);
  PLIMSOLL_ASSIGN(const size_t along, axis_of(node, node.integer("axis", 0), x.rank()));
  if (x.dims[along].batch) return node.unsupported("splits the batch of " + to_string(x.dims));
  PLIMSOLL_ASSIGN(const std::vector<int64_t> extents, extents_of(node, x.dims[along].value));
  std::vector<TensorType> types;
  for (const int64_t extent : extents) {
    types.push_back({x.type, x.dims});
    types.back().dims[along] = {extent};
  }
  return types;
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const std::vector<int64_t> extents = extents_of(node, node.input_type(0).dims[axis(node)].value).value();
  if (is_whole_input(node)) {
    MoveAttrs attrs = as_it_is(node.input_type(0).rank());
    for (size_t i = 0; i < extents.size(); ++i) {
      if (node.has_output(i)) move_elements(build, attrs, i);
      attrs.starts[axis(node)] += extents[i];
    }
    return;
  }
  std::vector<Operand> pieces;
  for (size_t i = 0; i < extents.size(); ++i) pieces.push_back(build.write_output(i));
  split(build, TaskKind::forward, axis(node), build.read_input(0), pieces, extents);
}

void backward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const std::vector<int64_t> extents = extents_of(node, node.input_type(0).dims[axis(node)].value).value();
  const bool parameter = node.input(0).kind == ValueKind::parameter;
  TaskSpec task{.kernel = "Concat",
                .kind = parameter ? TaskKind::backward_weights : TaskKind::backward_data,
                .attributes = to_attributes(PiecesAttrs{.axis = static_cast<int64_t>(axis(node))})};
  for (size_t i = 0; i < extents.size(); ++i) {
    Operand piece = build.read_gradient(i);
    if (piece.access == Access::absent) {
      TensorType type = node.input_type(0);
      type.dims[axis(node)] = {extents[i]};
      piece = build.write_scratch("zero" + std::to_string(i), type);
      build.task({.kernel = "Zero", .kind = TaskKind::backward_data, .operands = {piece}});
      piece = as_read(piece);
    }
    task.operands.push_back(piece);
  }
  task.operands.push_back(build.write_gradient(0));
  build.task(std::move(task));
}

std::vector<Sample> samples() {
  const SampleInput image{.dims = {kBatch, {48}, {3}, {2}}};
  const SampleInput lengths{.dims = {{2}}, .kind = ValueKind::constant, .constant = {16, 32}, .type = DataType::i64};
  const int64_t channels = 1;
  return {
      {.name = "equal", .inputs = {image}, .attributes = {{"axis", channels}}, .opset = 13, .outputs = 3},
      {.name = "lengths", .inputs = {image, lengths}, .attributes = {{"axis", channels}}, .opset = 13, .outputs = 2},
      {.name = "attribute",
       .inputs = {{.dims = {kBatch, {3}, {5}}}},
       .attributes = {{"axis", int64_t{-1}}, {"split", std::vector<int64_t>{1, 4}}},
       .opset = 11,
       .outputs = 2},
      {.name = "uneven",
       .inputs = {{.dims = {kBatch, {7}}}},
       .attributes = {{"axis", channels}, {"num_outputs", int64_t{3}}},
       .opset = 18,
       .outputs = 3},
      {.name = "ids",
       .inputs = {{.dims = {kBatch, {6}}, .type = DataType::i64, .low = -9, .high = 9}},
       .attributes = {{"axis", channels}},
       .opset = 13,
       .outputs = 2},
      {.name = "parameter",
       .inputs = {{.dims = {{4}, {3}}, .kind = ValueKind::parameter}},
       .attributes = {{"axis", int64_t{0}}},
       .outputs = 2}};
}

}  // namespace split_operator

const Op op_Split{.name = "Split",
                  .first_opset = 2,
                  .inputs = {Slot::data, Slot::constant},
                  .most_outputs = kAnyNumber,
                  .attributes = {attribute::integer("axis"), attribute::integer("num_outputs").since(18),
                                 attribute::integers("split").until(12)},
                  .elements = Elements::shown,
                  .infer = split_operator::infer,
                  .forward = split_operator::forward,
                  .backward = split_operator::backward,
                  .any_type = true,
                  .layout_of = pieces_layout,
                  .adds_up = adds_up_first,
                  .samples = split_operator::samples};

}  // namespace plimsoll
