// Slice: every step-th element from a start to an end, per axis.   Slice {x, y}   SliceBackward {dy, dx}
// Bounds are attributes before opset 10, constant inputs from there on. Samples are never cut off.
#include <algorithm>

#include "compiler/ops/evaluate.h"
#include "compiler/ops/reshaping.h"
#include "compiler/ops/slice_range.h"
#include "compiler/ops/whole.h"
#include "runtime/attrs/shape.h"

namespace plimsoll {
namespace slice {

using Ints = std::vector<int64_t>;

struct Cut {
  SliceAttrs attrs = {};
  Dims dims = {};
  bool whole = true;  // nothing is cut off or turned around
};

// Bounds of the operator: a list from input `i`, or from an attribute before opset 10. Empty: not given.
Result<Ints> list_of(const NodeView& node, size_t i, std::string_view name) {
  if (node.opset() < 10) return node.integers(name);
  if (!node.has_input(i)) return Ints{};
  const auto given = node.constant_integers(i);
  if (!given) return node.unsupported(std::string(name) + " (input " + std::to_string(i) +
                                      ") are not known while compiling");
  return *given;
}

Result<Cut> cut_of(const NodeView& node) {
  const Dims& x = node.input_type(0).dims;
  PLIMSOLL_ASSIGN(const Ints starts, list_of(node, 1, "starts"));
  PLIMSOLL_ASSIGN(const Ints ends, list_of(node, 2, "ends"));
  PLIMSOLL_ASSIGN(Ints axes, list_of(node, 3, "axes"));
  PLIMSOLL_ASSIGN(Ints steps, list_of(node, 4, "steps"));
  if (axes.empty())
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return node.invalid("has " + std::to_string(starts.size()) + " starts, " + std::to_string(ends.size()) +
                        " ends, " + std::to_string(axes.size()) + " axes and " + std::to_string(steps.size()) +
                        " steps");
  Cut cut{.dims = x};
  for (size_t i = 0; i < x.size(); ++i) {
    cut.attrs.starts.push_back(0);
    cut.attrs.steps.push_back(1);
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    PLIMSOLL_ASSIGN(const size_t axis, axis_of(node, axes[i], x.size()));
    const int64_t step = steps[i], n = x[axis].value;
    if (step == 0) return node.invalid("the step along axis " + std::to_string(axis) + " is 0");
    if (x[axis].batch) {
      // The whole batch, however many samples there are: [0, a very large number).
      if (starts[i] == 0 && step == 1 && ends[i] >= INT32_MAX) continue;
      return node.unsupported("takes [" + std::to_string(starts[i]) + ", " + std::to_string(ends[i]) +
                              ") of the samples");
    }
    const auto [first, count] = slice_range(starts[i], ends[i], step, n);
    if (count == 0)
      return node.invalid("nothing is left of axis " + std::to_string(axis) + " of " + to_string(x) + " between " +
                          std::to_string(starts[i]) + " and " + std::to_string(ends[i]));
    cut.attrs.starts[axis] = first;
    cut.attrs.steps[axis] = count == 1 ? 1 : step;
    cut.dims[axis] = {count};
    if (count != n || (n > 1 && step < 0)) cut.whole = false;
  }
  return cut;
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("needs an input");
  const TensorType& x = node.input_type(0);
  PLIMSOLL_ASSIGN(const Cut cut, cut_of(node));
  return std::vector{TensorType{x.type, cut.dims}};
}

void forward(TaskBuilder& build) {
  const Cut cut = cut_of(build.node()).value();
  if (cut.whole) return forward_alias(build);
  if (is_whole_input(build.node())) {
    MoveAttrs attrs = as_it_is(cut.dims.size());
    attrs.starts = cut.attrs.starts;
    attrs.steps = cut.attrs.steps;
    return move_elements(build, attrs);
  }
  build.task({.kernel = "Slice",
              .attributes = to_attributes(cut.attrs),
              .operands = {build.read_input(0), build.write_output(0)}});
}

void backward(TaskBuilder& build) {
  const Cut cut = cut_of(build.node()).value();
  if (cut.whole) return backward_alias(build);
  const bool parameter = build.node().input(0).kind == ValueKind::parameter;
  build.task({.kernel = "SliceBackward",
              .kind = parameter ? TaskKind::backward_weights : TaskKind::backward_data,
              .attributes = to_attributes(cut.attrs),
              .operands = {build.read_gradient(0), build.write_gradient(0)}});
}

std::optional<Moves> moves(const NodeView& node) {
  const auto cut = cut_of(node);
  if (!cut.ok()) return std::nullopt;
  Moves moves;
  for (size_t axis = 0; axis < cut->dims.size(); ++axis) {
    moves.axis.push_back(static_cast<int64_t>(axis));
    moves.start.push_back(cut->attrs.starts[axis]);
    moves.step.push_back(cut->attrs.steps[axis]);
  }
  return moves;
}

std::vector<Sample> samples() {
  const SampleInput image{.dims = {kBatch, {3}, {6}, {7}}};
  const auto list = [](std::vector<double> numbers) {
    return SampleInput{.dims = {{static_cast<int64_t>(numbers.size())}},
                       .kind = ValueKind::constant,
                       .constant = numbers,
                       .type = DataType::i64};
  };
  return {{.name = "attributes",
           .inputs = {image},
           .attributes = {{"starts", Ints{1, -5}}, {"ends", Ints{3, 1000}}, {"axes", Ints{1, 3}}},
           .opset = 9},
          {.name = "rows", .inputs = {image, list({0, 0, 2}), list({9e15, 3, 5})}},
          {.name = "steps", .inputs = {image, list({1, 6}), list({6, 0}), list({2, -1}), list({2, -2})}},
          {.name = "reversed", .inputs = {{.dims = {kBatch, {5}}}, list({-1}), list({-9e15}), list({1}), list({-1})}},
          {.name = "whole", .inputs = {image, list({0}), list({9e15}), list({1})}},
          {.name = "parameter",
           .inputs = {{.dims = {{5}, {4}}, .kind = ValueKind::parameter}, list({1}), list({3})}},
          {.name = "ids", .inputs = {{.dims = {kBatch, {9}}, .type = DataType::i64, .low = -9, .high = 99}, list({1}), list({9}), list({1})}},
          {.name = "mask",
           .inputs = {{.dims = {{2}, kBatch, {9}}, .type = DataType::u8, .low = 0, .high = 2}, list({1, -1}), list({2, -9e15}), list({0, 2}), list({1, -2})}}};
}

// Of one number in all elements: any size, also the batch's along another axis (states of zeros, layer by layer).
Known slice_of_splat(const KnownValue& data, const std::vector<int64_t>& starts, const std::vector<int64_t>& ends, const std::vector<int64_t>& axes) {
  Dims dims = data.dims;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto axis = constants::axis_of(axes[i], dims.size());
    if (!axis || dims[*axis].batch) return std::nullopt;
    dims[*axis] = {slice_range(starts[i], ends[i], 1, dims[*axis].value).count};
  }
  return constants::reshaped(data, std::move(dims));
}

Known evaluate(const KnownCall& call) {
  const KnownValue* data = call.known(0);
  const auto starts = call.list("starts", 1), ends = call.list("ends", 2);
  auto axes = call.list("axes", 3), steps = call.list("steps", 4);
  if (data && data->splat() && !data->elements() && starts && ends && axes && steps && starts->size() == ends->size() && axes->size() == starts->size() &&
      std::all_of(steps->begin(), steps->end(), [](int64_t step) { return step == 1; }))
    return slice_of_splat(*data, *starts, *ends, *axes);
  if (!data || !data->elements() || *data->elements() > kKnownLimit || !starts || !ends || !axes || !steps ||
      starts->size() != ends->size())
    return std::nullopt;
  if (axes->empty())
    for (size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<int64_t>(i));
  if (steps->empty()) steps->assign(starts->size(), 1);
  if (axes->size() != starts->size() || steps->size() != starts->size()) return std::nullopt;
  KnownValue result = *data;
  for (size_t i = 0; i < starts->size(); ++i) {
    const auto axis = constants::axis_of((*axes)[i], result.dims.size());
    if (!axis || (*steps)[i] == 0) return std::nullopt;
    const int64_t step = (*steps)[i];
    const SliceRange range = slice_range((*starts)[i], (*ends)[i], step, result.dims[*axis].value);
    const constants::Extents e = constants::extents(result.dims, *axis);
    std::vector<int64_t> kept;
    for (int64_t k = 0; k < range.count; ++k) kept.push_back(range.first + k * step);
    std::vector<size_t> chosen;
    for (size_t outer = 0; outer < e.outer; ++outer)
      for (const int64_t at : kept)
        for (size_t inner = 0; inner < e.inner; ++inner)
          chosen.push_back((outer * e.at + static_cast<size_t>(at)) * e.inner + inner);
    Dims dims = result.dims;
    dims[*axis] = {static_cast<int64_t>(kept.size())};
    result = constants::picked(result, std::move(dims), chosen);
  }
  return result;
}

}  // namespace slice

const Op op_Slice{.name = "Slice",
                  .inputs = {Slot::data, Slot::constant, Slot::ends, Slot::constant},
                  .attributes = {attribute::integers("axes").until(9), attribute::integers("ends").until(9),
                                 attribute::integers("starts").until(9)},
                  .evaluate = slice::evaluate,
                  .infer = slice::infer,
                  .forward = slice::forward,
                  .backward = slice::backward,
                  .any_type = true,
                  .adds_up = adds_up_first,
                  .moves = slice::moves,
                  .samples = slice::samples};

}  // namespace plimsoll
