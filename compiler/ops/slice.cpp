// Slice: every step-th element from a start to an end, per axis.   Slice {x, y}   SliceBackward {dy, dx}
// Bounds are attributes before opset 10, constant inputs since. Samples are never sliced.
#include <algorithm>

#include "compiler/ops/dims.h"
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
  bool whole = true;  // nothing is cropped or reversed
};

struct Bounds {
  Ints starts, ends, axes, steps;  // axes and steps may be empty: all axes in order, and steps of 1
};

// For one axis: every step-th element from the first on.
struct AxisCut {
  size_t axis;
  SliceRange range;
  int64_t step;
};

// No batch has a billion samples. TensorFlow's exporter writes this number for an end that is left out; others
// write the largest integer.
constexpr int64_t kNoEnd = 1'000'000'000;

// The range of each axis that the bounds name; it may be empty. The sample dimension must be kept whole, and is not
// listed.
Result<std::vector<AxisCut>> cuts_of(const Dims& x, Bounds bounds) {
  const size_t count = bounds.starts.size();
  if (bounds.axes.empty())
    for (size_t i = 0; i < count; ++i) bounds.axes.push_back(static_cast<int64_t>(i));
  if (bounds.steps.empty()) bounds.steps.assign(count, 1);
  if (bounds.ends.size() != count || bounds.axes.size() != count || bounds.steps.size() != count)
    return dims::invalid("has " + std::to_string(count) + " starts, " + std::to_string(bounds.ends.size()) + " ends, " +
                         std::to_string(bounds.axes.size()) + " axes and " + std::to_string(bounds.steps.size()) +
                         " steps");
  PLIMSOLL_TRY(dims::axes_of(bounds.axes, x.size()));
  std::vector<AxisCut> cuts;
  for (size_t i = 0; i < count; ++i) {
    const size_t axis = dims::axis_of(bounds.axes[i], x.size()).value();
    const int64_t start = bounds.starts[i], end = bounds.ends[i], step = bounds.steps[i];
    if (step == 0) return dims::invalid("the step along axis " + std::to_string(axis) + " is 0");
    if (x[axis].batch) {
      // The whole batch, for any number of samples: [0, a very large number).
      if (start == 0 && step == 1 && end >= kNoEnd) continue;
      return dims::unsupported("selects [" + std::to_string(start) + ", " + std::to_string(end) +
                               ") of the batch, but each sample is trained; export the model without this selection");
    }
    cuts.push_back({axis, slice_range(start, end, step, x[axis].value), step});
  }
  return cuts;
}

Dims sliced(Dims dims, const std::vector<AxisCut>& cuts) {
  for (const AxisCut& cut : cuts) dims[cut.axis] = {cut.range.count};
  return dims;
}

// Bounds of the operator: a list from input `i`, or from an attribute before opset 10. Empty: not given.
Result<Ints> list_of(const NodeView& node, size_t i, std::string_view name) {
  if (node.opset() < 10) return node.integers(name);
  if (!node.has_input(i)) return Ints{};
  const auto given = node.constant_integers(i);
  if (!given) return node.unsupported(std::string(name) + " (input " + std::to_string(i) +
                                      ") are not known at compile time");
  return *given;
}

std::string text(const Ints& list) {
  std::string joined;
  for (const int64_t item : list) joined += (joined.empty() ? "" : ", ") + std::to_string(item);
  return "[" + joined + "]";
}

Result<Cut> cut_of(const NodeView& node) {
  const Dims& x = node.input_type(0).dims;
  Bounds bounds;
  PLIMSOLL_ASSIGN(bounds.starts, list_of(node, 1, "starts"));
  PLIMSOLL_ASSIGN(bounds.ends, list_of(node, 2, "ends"));
  PLIMSOLL_ASSIGN(bounds.axes, list_of(node, 3, "axes"));
  PLIMSOLL_ASSIGN(bounds.steps, list_of(node, 4, "steps"));
  PLIMSOLL_ASSIGN(const std::vector<AxisCut> cuts, named(node, cuts_of(x, bounds)));
  Cut cut{.dims = sliced(x, cuts)};
  for (size_t i = 0; i < x.size(); ++i) {
    cut.attrs.starts.push_back(0);
    cut.attrs.steps.push_back(1);
  }
  for (const auto& [axis, range, step] : cuts) {
    const auto [first, count] = range;
    const int64_t n = x[axis].value;
    if (count == 0)
      return node.invalid("selects nothing of axis " + std::to_string(axis) + " of " + to_string(x) + " from " +
                          text(bounds.starts) + " to " + text(bounds.ends));
    cut.attrs.starts[axis] = first;
    cut.attrs.steps[axis] = count == 1 ? 1 : step;
    if (count != n || (n > 1 && step < 0)) cut.whole = false;
  }
  return cut;
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
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

std::optional<AxisPart> part(const NodeView& node) {
  const auto cut = cut_of(node);
  if (!cut.ok()) return std::nullopt;
  std::optional<AxisPart> part;
  for (size_t axis = 0; axis < cut->dims.size(); ++axis) {
    const int64_t first = cut->attrs.starts[axis], step = cut->attrs.steps[axis];
    if (cut->dims[axis] == node.input_type(0).dims[axis] && step == 1) continue;
    if (part) return std::nullopt;
    part = {.axis = axis, .first = first, .step = step, .count = cut->dims[axis].value};
  }
  return part;
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
          {.name = "parameter", .inputs = {{.dims = {{5}, {4}}, .kind = ValueKind::parameter}, list({1}), list({3})}},
          {.name = "ids",
           .inputs = {{.dims = {kBatch, {9}}, .type = DataType::i64, .low = -9, .high = 99},
                      list({1}),
                      list({9}),
                      list({1})}},
          {.name = "mask",
           .inputs = {{.dims = {{2}, kBatch, {9}}, .type = DataType::u8, .low = 0, .high = 2},
                      list({1, -1}),
                      list({2, -9e15}),
                      list({0, 2}),
                      list({1, -2})}}};
}

std::optional<Bounds> bounds_of(const KnownCall& call) {
  const auto starts = call.list("starts", 1), ends = call.list("ends", 2);
  const auto axes = call.list("axes", 3), steps = call.list("steps", 4);
  return starts && ends && axes && steps ? std::optional(Bounds{*starts, *ends, *axes, *steps}) : std::nullopt;
}

Known evaluate(const KnownCall& call) {
  const KnownValue* data = call.known(0);
  const auto bounds = bounds_of(call);
  if (!data || !bounds) return std::nullopt;
  // If all elements are equal (zero states), neither the size nor a batch along another axis matters.
  const bool one_number = data->splat() && !data->elements();
  if (!one_number && (!data->elements() || *data->elements() > kKnownLimit)) return std::nullopt;
  const auto cuts = cuts_of(data->dims, *bounds);
  if (!cuts.ok()) return std::nullopt;
  if (one_number) return constants::reshaped(*data, sliced(data->dims, *cuts));
  KnownValue result = *data;
  for (const AxisCut& cut : *cuts) {
    const constants::Extents e = constants::extents(result.dims, cut.axis);
    std::vector<size_t> chosen;
    for (size_t outer = 0; outer < e.outer; ++outer)
      for (int64_t k = 0; k < cut.range.count; ++k) {
        const auto at = static_cast<size_t>(cut.range.first + k * cut.step);
        for (size_t inner = 0; inner < e.inner; ++inner) chosen.push_back((outer * e.at + at) * e.inner + inner);
      }
    result = constants::picked(result, sliced(result.dims, {cut}), chosen);
  }
  return result;
}

std::optional<Dims> evaluate_dims(const KnownCall& call) {
  const auto bounds = bounds_of(call);
  if (!call.dims(0) || !bounds) return std::nullopt;
  const auto cuts = cuts_of(*call.dims(0), *bounds);
  return cuts.ok() ? std::optional(sliced(*call.dims(0), *cuts)) : std::nullopt;
}

std::optional<Progression> evaluate_spaced(const KnownCall& call, const Progression& first) {
  const auto bounds = bounds_of(call);
  if (!bounds) return std::nullopt;
  const auto cuts = cuts_of(first.dims, *bounds);
  if (!cuts.ok()) return std::nullopt;
  Progression made = first;
  made.dims = sliced(first.dims, *cuts);
  for (const AxisCut& cut : *cuts) {
    int64_t& step = made.steps[cut.axis];
    int64_t skipped = 0;
    if (cut.range.count == 0 || __builtin_mul_overflow(cut.range.first, step, &skipped) ||
        __builtin_add_overflow(made.first, skipped, &made.first) || __builtin_mul_overflow(step, cut.step, &step))
      return std::nullopt;
  }
  return made;
}

std::optional<RowsOfInputs> rows(const KnownCall& call) {
  const Dims* x = call.dims(0);
  const auto bounds = bounds_of(call);
  if (!x || x->empty() || !bounds) return std::nullopt;
  const auto cuts = cuts_of(*x, *bounds);
  if (!cuts.ok()) return std::nullopt;
  InputRows kept{.input = 0, .first = 0, .count = x->front().value};
  for (const AxisCut& cut : *cuts) {
    if (cut.step != 1) return std::nullopt;
    if (cut.axis == 0) kept = {0, cut.range.first, cut.range.count};
    else if (Dim{cut.range.count} != (*x)[cut.axis]) return std::nullopt;
  }
  return RowsOfInputs{.rows = {kept}};
}

}  // namespace slice

const Op op_Slice{.name = "Slice",
                  .inputs = {Slot::data, Slot::constant, Slot::ends, Slot::constant},
                  .attributes = {attribute::integers("axes").until(9), attribute::integers("ends").until(9),
                                 attribute::integers("starts").until(9)},
                  .elements = Elements::shown,
                  .sample_numbers = SampleNumbers::kept,
                  .evaluate = slice::evaluate,
                  .evaluate_spaced = slice::evaluate_spaced,
                  .evaluate_dims = slice::evaluate_dims,
                  .rows = slice::rows,
                  .infer = slice::infer,
                  .forward = slice::forward,
                  .backward = slice::backward,
                  .any_type = true,
                  .adds_up = adds_up_first,
                  .moves = slice::moves,
                  .part = slice::part,
                  .samples = slice::samples};

}  // namespace plimsoll
