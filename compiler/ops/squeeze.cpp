// Squeeze: removes the given dimensions of size 1, by default all; no task.
#include <algorithm>

#include "compiler/ops/dims.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reshaping.h"

namespace plimsoll {
namespace squeeze {

// Without the given axes, or, if none are given, without all dimensions of size 1.
Result<Dims> squeezed(const Dims& x, const std::optional<std::vector<size_t>>& axes) {
  Dims result;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool asked = axes ? std::find(axes->begin(), axes->end(), i) != axes->end() : x[i] == Dim{1};
    if (!asked) result.push_back(x[i]);
    if (asked && x[i] != Dim{1})
      return dims::invalid("axis " + std::to_string(i) + " of " + to_string(x) + " is not 1");
  }
  return result;
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  const TensorType& x = node.input_type(0);
  PLIMSOLL_ASSIGN(const auto axes, axes_of(node, 1, x.rank()));
  PLIMSOLL_ASSIGN(Dims dims, named(node, squeezed(x.dims, axes)));
  return std::vector{TensorType{x.type, std::move(dims)}};
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

// The dimensions of the result for an input of dimensions `from`; nullopt if the axes are unknown or wrong.
std::optional<Dims> dims_of(const KnownCall& call, const Dims& from) {
  const auto given = call.list("axes", 1);
  if (!given) return std::nullopt;
  std::optional<std::vector<size_t>> axes;
  if (call.given(1) || find_attribute(call.node, "axes")) {
    Result<std::vector<size_t>> resolved = dims::axes_of(*given, from.size());
    if (!resolved.ok()) return std::nullopt;
    axes = std::move(*resolved);
  }
  Result<Dims> dims = squeezed(from, axes);
  return dims.ok() ? std::optional(std::move(*dims)) : std::nullopt;
}

Known evaluate(const KnownCall& call) {
  const auto dims = call.known(0) ? dims_of(call, call.known(0)->dims) : std::nullopt;
  return dims ? Known(constants::reshaped(*call.known(0), *dims)) : std::nullopt;
}

std::optional<Progression> evaluate_spaced(const KnownCall& call, const Progression& first) {
  const auto dims = dims_of(call, first.dims);
  return dims ? spaced::reshaped(first, *dims) : std::nullopt;
}

}  // namespace squeeze

const Op op_Squeeze{.name = "Squeeze",
                    .inputs = {Slot::data, Slot::constant},
                    .attributes = {attribute::integers("axes").until(12)},
                    .moves_only = true,
                    .elements = Elements::shown,
                    .sample_numbers = SampleNumbers::kept,
                    .axes = AxesRule::regrouped,
                    .evaluate = squeeze::evaluate,
                    .evaluate_spaced = squeeze::evaluate_spaced,
                    .infer = squeeze::infer,
                    .forward = forward_alias,
                    .backward = backward_alias,
                    .adds_up = adds_up_first,
                    .samples = squeeze::samples};

}  // namespace plimsoll
