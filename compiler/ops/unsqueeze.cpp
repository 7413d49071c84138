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

Known evaluate(const KnownCall& call) {
  const auto axes = call.list("axes", 1);
  if (!call.known(0) || !axes) return std::nullopt;
  const Dims& from = call.known(0)->dims;
  const auto resolved = dims::axes_of(*axes, from.size() + axes->size());
  if (!resolved.ok()) return std::nullopt;
  return constants::reshaped(*call.known(0), unsqueezed(from, *resolved));
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
                      .infer = unsqueeze::infer,
                      .forward = forward_alias,
                      .backward = backward_alias,
                      .adds_up = adds_up_first,
                      .samples = unsqueeze::samples};

}  // namespace plimsoll
