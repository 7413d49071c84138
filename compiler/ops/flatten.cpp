// Flatten: the dimensions before `axis` as one, those from there on as another; no task.
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reshaping.h"

namespace plimsoll {
namespace flatten {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("needs an input");
  const TensorType& x = node.input_type(0);
  const int64_t rank = static_cast<int64_t>(x.rank()), axis = node.integer("axis", 1);
  if (axis < -rank || axis > rank)
    return node.invalid("axis " + std::to_string(axis) + " is outside " + to_string(x.dims));
  const size_t at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  PLIMSOLL_ASSIGN(const Dim rows, product_of(node, x.dims, 0, at));
  PLIMSOLL_ASSIGN(const Dim columns, product_of(node, x.dims, at, x.rank()));
  return std::vector{TensorType{x.type, {rows, columns}}};
}

Known evaluate(const KnownCall& call) {
  const KnownValue* data = call.known(0);
  if (!data || !data->elements()) return std::nullopt;
  const int64_t rank = static_cast<int64_t>(data->dims.size()), axis = call.integer("axis", 1), from = axis < 0 ? axis + rank : axis;
  if (from < 0 || from > rank) return std::nullopt;
  int64_t before = 1;
  for (int64_t i = 0; i < from; ++i) before *= data->dims[static_cast<size_t>(i)].value;
  if (before == 0) return std::nullopt;
  return constants::reshaped(*data, {{before}, {*data->elements() / before}});
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
                    .evaluate = flatten::evaluate,
                    .infer = flatten::infer,
                    .forward = forward_alias,
                    .backward = backward_alias,
                    .adds_up = adds_up_first,
                    .samples = flatten::samples};

}  // namespace plimsoll
