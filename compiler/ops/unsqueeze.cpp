// Unsqueeze: inserts dimensions of size 1 at `axes` of the result; no task.
#include "compiler/ops/dims.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reshaping.h"

namespace plimsoll {
namespace unsqueeze {

// With a 1 at each of the axes, which are counted in the result.
Dims unsqueezed(Dims dims, const std::vector<size_t>& axes) {
  for (const size_t axis : axes) dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), Dim{1});
  return dims;
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  const TensorType& x = node.input_type(0);
  // Axes are counted in the result, whose rank depends on their number.
  const size_t more = node.has_input(1) ? node.constant_integers(1).value_or(std::vector<int64_t>{}).size()
                                        : node.integers("axes").size();
  if (x.rank() + more > static_cast<size_t>(kMaxRank))
    return node.unsupported(std::to_string(x.rank() + more) + " dimensions; the limit is " + std::to_string(kMaxRank));
  PLIMSOLL_ASSIGN(const auto axes, axes_of(node, 1, x.rank() + more));
  if (!axes) return node.invalid("needs axes");
  return std::vector{TensorType{x.type, unsqueezed(x.dims, *axes)}};
}

std::vector<Sample> samples() {
  const SampleInput rows{.dims = {kBatch, {5}}};
  const SampleInput axes{.dims = {{2}}, .kind = ValueKind::constant, .constant = {-1, 2}, .type = DataType::i64};
  return {{.name = "input", .inputs = {rows, axes}},
          {.name = "attribute", .inputs = {rows}, .attributes = {{"axes", std::vector<int64_t>{1}}}, .opset = 11}};
}

// The axes in the result for an input of `rank` dimensions; nullopt if they are unknown or wrong.
std::optional<std::vector<size_t>> axes_in(const KnownCall& call, size_t rank) {
  const auto axes = call.list("axes", 1);
  if (!axes) return std::nullopt;
  Result<std::vector<size_t>> resolved = dims::axes_of(*axes, rank + axes->size());
  return resolved.ok() ? std::optional(std::move(*resolved)) : std::nullopt;
}

Known evaluate(const KnownCall& call) {
  const auto axes = call.known(0) ? axes_in(call, call.known(0)->dims.size()) : std::nullopt;
  return axes ? Known(constants::reshaped(*call.known(0), unsqueezed(call.known(0)->dims, *axes))) : std::nullopt;
}

std::optional<Progression> evaluate_spaced(const KnownCall& call, const Progression& first) {
  const auto axes = axes_in(call, first.dims.size());
  return axes ? spaced::reshaped(first, unsqueezed(first.dims, *axes)) : std::nullopt;
}

std::optional<RowsOfInputs> rows(const KnownCall& call) {
  const Dims* x = call.dims(0);
  if (!x || x->empty() || axes_in(call, x->size()) != std::vector<size_t>{0}) return std::nullopt;
  return RowsOfInputs{.rows = {{0, 0, x->front().value}}, .in_front = true};
}

}  // namespace unsqueeze

const Op op_Unsqueeze{.name = "Unsqueeze",
                      .inputs = {Slot::data, Slot::constant},
                      .attributes = {attribute::integers("axes").until(12)},
                      .moves_only = true,
                      .elements = Elements::shown,
                      .sample_numbers = SampleNumbers::kept,
                      .axes = AxesRule::regrouped,
                      .evaluate = unsqueeze::evaluate,
                      .evaluate_spaced = unsqueeze::evaluate_spaced,
                      .rows = unsqueeze::rows,
                      .infer = unsqueeze::infer,
                      .forward = forward_alias,
                      .backward = backward_alias,
                      .adds_up = adds_up_first,
                      .samples = unsqueeze::samples};

}  // namespace plimsoll
