// Transpose: axis i of the result is axis perm[i] of the input; reversed if no perm is given.   Transpose {x, y}
// If only dimensions of size 1 move, the bytes do not change and there is no task.
#include <numeric>

#include "compiler/ops/dims.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/progression.h"
#include "compiler/ops/reshaping.h"
#include "compiler/ops/whole.h"
#include "runtime/attrs/shape.h"

namespace plimsoll {
namespace transpose {

using Axes = std::vector<int64_t>;

Axes reversed(size_t rank) {
  Axes axes(rank);
  std::iota(axes.rbegin(), axes.rend(), 0);
  return axes;
}

// The given axes, if they are a permutation of all axes.
Result<Axes> permutation(Axes given, size_t rank) {
  std::vector<bool> seen(rank, false);
  for (const int64_t axis : given) {
    if (given.size() != rank || axis < 0 || axis >= static_cast<int64_t>(rank) || seen[static_cast<size_t>(axis)])
      return dims::invalid("perm is not a permutation of " + std::to_string(rank) + " axes");
    seen[static_cast<size_t>(axis)] = true;
  }
  if (given.size() != rank) return dims::invalid("perm is empty for " + std::to_string(rank) + " axes");
  return given;
}

Result<IntList> perm_of(const NodeView& node) {
  const size_t rank = node.input_type(0).rank();
  if (rank > static_cast<size_t>(kMaxRank))
    return node.unsupported(std::to_string(rank) + " dimensions; the limit is " + std::to_string(kMaxRank));
  PLIMSOLL_ASSIGN(const Axes axes, named(node, permutation(node.integers("perm", reversed(rank)), rank)));
  IntList perm;
  for (const int64_t axis : axes) perm.push_back(axis);
  return perm;
}

template <class List>
Dims permuted(const Dims& dims, const List& perm) {
  Dims result;
  for (const int64_t axis : perm) result.push_back(dims[static_cast<size_t>(axis)]);
  return result;
}

// The axes longer than 1 keep their order.
bool moves_nothing(const Dims& dims, const IntList& perm) {
  int64_t last = -1;
  for (const int64_t axis : perm) {
    if (dims[static_cast<size_t>(axis)] == Dim{1}) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

IntList inverse(const IntList& perm) {
  IntList result = perm;
  for (size_t i = 0; i < perm.size(); ++i) result[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return result;
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  const TensorType& x = node.input_type(0);
  PLIMSOLL_ASSIGN(const IntList perm, perm_of(node));
  return std::vector{TensorType{x.type, permuted(x.dims, perm)}};
}

void forward(TaskBuilder& build) {
  const IntList perm = perm_of(build.node()).value();
  if (moves_nothing(build.node().input_type(0).dims, perm)) return forward_alias(build);
  if (build.node().input_type(0).type == DataType::u8) {
    MoveAttrs attrs = as_it_is(perm.size());
    attrs.order = perm;
    return move_elements(build, attrs);
  }
  build.task({.kernel = "Transpose",
              .attributes = to_attributes(TransposeAttrs{.perm = perm}),
              .operands = {build.read_input(0), build.write_output(0)}});
}

void backward(TaskBuilder& build) {
  const IntList perm = perm_of(build.node()).value();
  if (moves_nothing(build.node().input_type(0).dims, perm)) return backward_alias(build);
  const bool parameter = build.node().input(0).kind == ValueKind::parameter;
  build.task({.kernel = "Transpose",
              .kind = parameter ? TaskKind::backward_weights : TaskKind::backward_data,
              .attributes = to_attributes(TransposeAttrs{.perm = inverse(perm)}),
              .operands = {build.read_gradient(0), build.write_gradient(0)}});
}

std::optional<Moves> moves(const NodeView& node) {
  const auto perm = perm_of(node);
  if (!perm.ok()) return std::nullopt;
  Moves moves;
  for (const int64_t axis : *perm) {
    moves.axis.push_back(axis);
    moves.start.push_back(0);
    moves.step.push_back(1);
  }
  return moves;
}

std::vector<Sample> samples() {
  using Ints = std::vector<int64_t>;
  return {
      {.name = "matrix", .inputs = {{.dims = {{37}, {21}}, .kind = ValueKind::parameter}}},
      {.name = "heads", .inputs = {{.dims = {kBatch, {3}, {2}, {5}}}}, .attributes = {{"perm", Ints{0, 2, 1, 3}}}},
      {.name = "heads_of_8", .inputs = {{.dims = {kBatch, {3}, {2}, {8}}}}, .attributes = {{"perm", Ints{0, 2, 1, 3}}}},
      {.name = "keys", .inputs = {{.dims = {kBatch, {2}, {18}, {5}}}}, .attributes = {{"perm", Ints{0, 2, 3, 1}}}},
      {.name = "to_front", .inputs = {{.dims = {kBatch, {3}, {5}}}}, .attributes = {{"perm", Ints{2, 0, 1}}}},
      {.name = "steps",
       .inputs = {{.dims = {kBatch, {7}}, .type = DataType::i64, .low = -9, .high = 1e9}},
       .attributes = {{"perm", Ints{1, 0}}}},
      {.name = "narrow_steps",
       .inputs = {{.dims = {kBatch, {3}, {4}}, .type = DataType::i32, .low = -9, .high = 1e9}},
       .attributes = {{"perm", Ints{1, 0, 2}}}},
      {.name = "mask",
       .inputs = {{.dims = {kBatch, {3}, {4}}, .type = DataType::u8, .low = 0, .high = 2}},
       .attributes = {{"perm", Ints{2, 0, 1}}}},
      {.name = "ones", .inputs = {{.dims = {kBatch, {1}, {5}}}}, .attributes = {{"perm", Ints{1, 0, 2}}}}};
}

Result<Axes> permutation_of(const KnownCall& call, size_t rank) {
  const ModelAttribute* given = find_attribute(call.node, "perm");
  return permutation(given ? given->integers() : reversed(rank), rank);
}

Known evaluate(const KnownCall& call) {
  const KnownValue* data = call.known(0);
  if (!data || !data->elements() || *data->elements() > kKnownLimit) return std::nullopt;
  const size_t rank = data->dims.size();
  const auto perm = permutation_of(call, rank);
  if (!perm.ok()) return std::nullopt;
  Dims dims = permuted(data->dims, *perm);
  std::vector<size_t> chosen(static_cast<size_t>(*data->elements()));
  for (size_t flat = 0; flat < chosen.size(); ++flat) {
    size_t rest = flat, from = 0;
    for (size_t i = rank; i-- > 0;) {
      const size_t index = rest % static_cast<size_t>(dims[i].value);
      rest /= static_cast<size_t>(dims[i].value);
      from += index * constants::extents(data->dims, static_cast<size_t>((*perm)[i])).inner;
    }
    chosen[flat] = from;
  }
  return constants::picked(*data, std::move(dims), chosen);
}

std::optional<Progression> evaluate_spaced(const KnownCall& call, const Progression& first) {
  const auto perm = permutation_of(call, first.dims.size());
  if (!perm.ok()) return std::nullopt;
  Progression made{.element = first.element, .dims = permuted(first.dims, *perm), .first = first.first};
  for (const auto axis : *perm) made.steps.push_back(first.steps[static_cast<size_t>(axis)]);
  return made;
}

}  // namespace transpose

const Op op_Transpose{.name = "Transpose",
                      .attributes = {attribute::integers("perm")},
                      .moves_only = true,
                      .elements = Elements::shown,
                      .sample_numbers = SampleNumbers::kept,
                      .axes = AxesRule::changed,
                      .evaluate = transpose::evaluate,
                      .evaluate_spaced = transpose::evaluate_spaced,
                      .infer = transpose::infer,
                      .forward = transpose::forward,
                      .backward = transpose::backward,
                      .adds_up = adds_up_first,
                      .moves = transpose::moves,
                      .samples = transpose::samples};

}  // namespace plimsoll
