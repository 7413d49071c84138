// Reshape: the same elements with other dimensions; no task.
//
// A target of 0 copies a dimension, and -1 takes the remaining elements. The sample dimension must be kept: a target
// with a number in its place is rejected here (the importer rewrites hard-coded batch sizes).
#include "compiler/ops/dims.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reshaping.h"

namespace plimsoll {
namespace reshape {

Dims to_dims(const std::vector<int64_t>& items) {
  Dims dims;
  for (const int64_t item : items) dims.push_back({item});
  return dims;
}

Result<Dims> target_of(const NodeView& node) {
  if (!node.has_input(1) && node.has("shape")) return to_dims(node.integers("shape"));
  const auto target = node.constant_integers(1);
  if (!target) return node.unsupported("the shape (input 1) is not known at compile time");
  if (target->size() > static_cast<size_t>(kMaxRank))
    return node.unsupported(std::to_string(target->size()) + " dimensions; the limit is " + std::to_string(kMaxRank));
  return to_dims(*target);
}

// The dimensions of `x` after the reshape. The number of elements does not change.
Result<Dims> reshaped(const Dims& x, const Dims& target, bool zero_is_zero) {
  PLIMSOLL_ASSIGN(const Dim all, dims::product_of(x));
  const auto mismatch = [&] {
    return dims::invalid("a tensor of " + to_string(x) + " cannot be reshaped to " + to_string(target));
  };
  Dims result;
  std::optional<size_t> open;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] == Dim{-1} && !open) {
      open = i;
      result.push_back(Dim{1});
    } else if (target[i] == Dim{0} && !zero_is_zero && i < x.size()) {
      result.push_back(x[i]);
    } else if (target[i].value > 0 || (target[i] == Dim{0} && zero_is_zero)) {
      result.push_back(target[i]);
    } else {
      return mismatch();
    }
  }
  PLIMSOLL_ASSIGN(const Dim known, dims::product_of(result));
  if (open) {
    if (known.value == 0 || all.value % known.value != 0 || (known.batch && !all.batch)) return mismatch();
    result[*open] = {all.value / known.value, all.batch && !known.batch};
  } else if (all.batch && !known.batch) {
    return dims::invalid("the target " + to_string(target) + " of " + to_string(x) +
                         " fixes the batch; use 0 or -1 instead");
  } else if (known != all) {
    return mismatch();
  }
  return result;
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  const TensorType& x = node.input_type(0);
  PLIMSOLL_ASSIGN(const Dims target, target_of(node));
  PLIMSOLL_ASSIGN(Dims dims, named(node, reshaped(x.dims, target, node.integer("allowzero", 0) != 0)));
  return std::vector{TensorType{x.type, std::move(dims)}};
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, Dims dims, std::vector<double> target) {
    return Sample{.name = std::move(name),
                  .inputs = {{.dims = std::move(dims)},
                             {.dims = {{static_cast<int64_t>(target.size())}},
                              .kind = ValueKind::constant,
                              .constant = target,
                              .type = DataType::i64}}};
  };
  return {sample("flatten", {kBatch, {3}, {4}, {5}}, {0, -1}), sample("rows", {kBatch, {3}, {4}}, {-1, 4}),
          sample("heads", {kBatch, {3}, {8}}, {0, 0, 2, 4}), sample("back", {{3, true}, {4}}, {-1, 3, 4}),
          {.name = "attribute",
           .inputs = {{.dims = {{6}, {4}}, .kind = ValueKind::parameter}},
           .attributes = {{"shape", std::vector<int64_t>{3, -1}}},
           .opset = 1}};
}

Known evaluate(const KnownCall& call) {
  const KnownValue* data = call.known(0);
  const auto target = constants::items(call.known(1));
  if (!data || !data->elements() || !target) return std::nullopt;
  Result<Dims> dims = reshaped(data->dims, *target, call.integer("allowzero", 0) != 0);
  if (!dims.ok()) return std::nullopt;
  return constants::reshaped(*data, std::move(*dims));
}

std::optional<Progression> evaluate_spaced(const KnownCall& call, const Progression& first) {
  const auto target = constants::items(call.known(1));
  if (!target) return std::nullopt;
  const Result<Dims> dims = reshaped(first.dims, *target, call.integer("allowzero", 0) != 0);
  return dims.ok() ? spaced::reshaped(first, *dims) : std::nullopt;
}

}  // namespace reshape

const Op op_Reshape{.name = "Reshape",
                    .inputs = {Slot::data, Slot::target},
                    .required_inputs = 2,
                    .attributes = {attribute::integer("allowzero").since(14), attribute::integers("shape").until(4)},
                    .moves_only = true,
                    .elements = Elements::shown,
                    .sample_numbers = SampleNumbers::kept,
                    .axes = AxesRule::regrouped,
                    .evaluate = reshape::evaluate,
                    .evaluate_spaced = reshape::evaluate_spaced,
                    .infer = reshape::infer,
                    .forward = forward_alias,
                    .backward = backward_alias,
                    .adds_up = adds_up_first,
                    .samples = reshape::samples};

}  // namespace plimsoll
