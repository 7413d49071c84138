// Squeeze: drops dimensions of 1, all of them where no axes are given; no task.
#include <algorithm>

#include "compiler/ops/evaluate.h"
#include "compiler/ops/reshaping.h"

namespace plimsoll {
namespace squeeze {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("needs an input");
  const TensorType& x = node.input_type(0);
  PLIMSOLL_ASSIGN(const auto axes, axes_of(node, 1, x.rank()));
  Dims dims;
  for (size_t i = 0; i < x.rank(); ++i) {
    const bool asked = axes ? std::find(axes->begin(), axes->end(), i) != axes->end() : x.dims[i] == Dim{1};
    if (!asked) dims.push_back(x.dims[i]);
    if (asked && x.dims[i] != Dim{1})
      return node.invalid("axis " + std::to_string(i) + " of " + to_string(x.dims) + " is not 1");
  }
  return std::vector{TensorType{x.type, dims}};
}

std::vector<Sample> samples() {
  const SampleInput image{.dims = {kBatch, {5}, {1}, {1}}};
  const SampleInput axes{.dims = {{2}}, .kind = ValueKind::constant, .constant = {2, -1}, .type = DataType::i64};
  return {{.name = "input", .inputs = {image, axes}},
          {.name = "attribute",
           .inputs = {image},
           .attributes = {{"axes", std::vector<int64_t>{-1}}},
           .opset = 11},
          {.name = "all", .inputs = {image}}};
}

Known evaluate(const KnownCall& call) {
  const auto axes = call.list("axes", 1);
  if (!call.known(0) || !axes) return std::nullopt;
  const Dims& from = call.known(0)->dims;
  std::vector<bool> gone(from.size(), false);
  for (const int64_t axis : *axes) {
    const auto at = constants::axis_of(axis, from.size());
    if (!at || from[*at] != Dim{1}) return std::nullopt;
    gone[*at] = true;
  }
  Dims dims;
  for (size_t i = 0; i < from.size(); ++i)
    if (!(axes->empty() ? from[i] == Dim{1} : gone[i])) dims.push_back(from[i]);
  return constants::reshaped(*call.known(0), std::move(dims));
}

}  // namespace squeeze

const Op op_Squeeze{.name = "Squeeze",
                    .inputs = {Slot::data, Slot::constant},
                    .attributes = {attribute::integers("axes").until(12)},
                    .moves_only = true,
                    .evaluate = squeeze::evaluate,
                    .infer = squeeze::infer,
                    .forward = forward_alias,
                    .backward = backward_alias,
                    .adds_up = adds_up_first,
                    .samples = squeeze::samples};

}  // namespace plimsoll
