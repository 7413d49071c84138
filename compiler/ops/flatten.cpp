// Flatten: the dimensions before `axis` become one dimension, the rest another; no task.
#include "compiler/ops/dims.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reshaping.h"

namespace plimsoll {
namespace flatten {

constexpr int64_t kAxis = 1;  // the default

Result<Dims> flattened(const Dims& x, int64_t axis) {
  const int64_t rank = static_cast<int64_t>(x.size());
  if (axis < -rank || axis > rank) return dims::invalid("axis " + std::to_string(axis) + " is outside " + to_string(x));
  const size_t at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  PLIMSOLL_ASSIGN(const Dim rows, dims::product_of(x, 0, at));
  PLIMSOLL_ASSIGN(const Dim columns, dims::product_of(x, at, x.size()));
  return Dims{rows, columns};
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  const TensorType& x = node.input_type(0);
  PLIMSOLL_ASSIGN(Dims dims, named(node, flattened(x.dims, node.integer("axis", kAxis))));
  return std::vector{TensorType{x.type, std::move(dims)}};
}

std::optional<Progression> evaluate_spaced(const KnownCall& call, const Progression& first) {
  const Result<Dims> dims = flattened(first.dims, call.integer("axis", kAxis));
  return dims.ok() ? spaced::reshaped(first, *dims) : std::nullopt;
}

Known evaluate(const KnownCall& call) {
  const KnownValue* data = call.known(0);
  if (!data || !data->elements()) return std::nullopt;
  Result<Dims> dims = flattened(data->dims, call.integer("axis", kAxis));
  if (!dims.ok()) return std::nullopt;
  return constants::reshaped(*data, std::move(*dims));
}

std::vector<Sample> samples() {
  const SampleInput image{.dims = {kBatch, {3}, {4}, {5}}};
  return {{.name = "image", .inputs = {image}},
          {.name = "last", .inputs = {image}, .attributes = {{"axis", int64_t{-1}}}},
          {.name = "all", .inputs = {image}, .attributes = {{"axis", int64_t{0}}}}};
}

}  // namespace flatten

const Op op_Flatten{.name = "Flatten",
                    .attributes = {attribute::integer("axis")},
                    .moves_only = true,
                    .elements = Elements::shown,
                    .axes = AxesRule::changed,
                    .evaluate = flatten::evaluate,
                    .evaluate_spaced = flatten::evaluate_spaced,
                    .infer = flatten::infer,
                    .forward = forward_alias,
                    .backward = backward_alias,
                    .adds_up = adds_up_first,
                    .samples = flatten::samples};

}  // namespace plimsoll
