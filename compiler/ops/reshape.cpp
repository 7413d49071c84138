// Reshape: the same elements under other dimensions; no task.
//
// A target of 0 copies a dimension, -1 takes what is left. The samples must go somewhere: a target that has a number
// where the batch was is refused here (the importer rewrites what an export has hard-coded).
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reshaping.h"

#include "compiler/support/bytes.h"

namespace plimsoll {
namespace reshape {

Result<std::vector<int64_t>> target_of(const NodeView& node) {
  if (!node.has_input(1) && node.has("shape")) return node.integers("shape");
  const auto target = node.constant_integers(1);
  if (!target) return node.unsupported("the shape (input 1) is not known while compiling");
  if (target->size() > static_cast<size_t>(kMaxRank))
    return node.unsupported(std::to_string(target->size()) + " dimensions are more than " + std::to_string(kMaxRank));
  return *target;
}

std::string text(const std::vector<int64_t>& target) {
  Dims dims;
  for (const int64_t t : target) dims.push_back({t});
  return to_string(dims);
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("needs an input");
  const TensorType& x = node.input_type(0);
  PLIMSOLL_ASSIGN(const std::vector<int64_t> target, target_of(node));
  PLIMSOLL_ASSIGN(const Dim all, product_of(node, x.dims, 0, x.rank()));
  const Error mismatch = node.invalid("a tensor of " + to_string(x.dims) + " cannot be reshaped to " + text(target));
  const bool zero_is_zero = node.integer("allowzero", 0) != 0;

  Dims dims;
  std::optional<size_t> open;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] == -1 && !open) {
      open = i;
      dims.push_back(Dim{1});
    } else if (target[i] == 0 && !zero_is_zero && i < x.rank()) {
      dims.push_back(x.dims[i]);
    } else if (target[i] > 0) {
      dims.push_back({target[i]});
    } else {
      return mismatch;
    }
  }
  PLIMSOLL_ASSIGN(const Dim known, product_of(node, dims, 0, dims.size()));
  if (open) {
    if (known.value == 0 || all.value % known.value != 0 || (known.batch && !all.batch)) return mismatch;
    dims[*open] = {all.value / known.value, all.batch && !known.batch};
  } else if (all.batch && !known.batch) {
    return node.invalid("the target " + text(target) + " of " + to_string(x.dims) +
                        " hard-codes the batch; use 0 or -1 for it");
  } else if (known != all) {
    return mismatch;
  }
  return std::vector{TensorType{x.type, dims}};
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
  const KnownValue *data = call.known(0), *shape = call.known(1);
  if (!data || !shape || shape->real() || !data->elements() || shape->dims.size() != 1) return std::nullopt;
  Dims dims;
  std::optional<size_t> open;
  int64_t rest = 1;
  for (size_t i = 0; i < static_cast<size_t>(shape->elements().value_or(0)); ++i) {
    Dim dim = shape->integer(i);
    if (dim.batch || dim.value < -1 || (dim.value == -1 && open)) return std::nullopt;
    if (dim.value == 0 && call.integer("allowzero", 0) == 0) {
      if (i >= data->dims.size()) return std::nullopt;
      dim = data->dims[i];
    }
    if (dim.value == -1) open = i;
    else if (const auto product = checked_mul(rest, dim.value)) rest = *product;
    else return std::nullopt;
    dims.push_back(dim);
  }
  if (open) {
    if (rest == 0 || *data->elements() % rest != 0) return std::nullopt;
    dims[*open] = {*data->elements() / rest};
  } else if (rest != *data->elements()) {
    return std::nullopt;
  }
  return constants::reshaped(*data, std::move(dims));
}

}  // namespace reshape

const Op op_Reshape{.name = "Reshape",
                    .inputs = {Slot::data, Slot::target},
                    .required_inputs = 2,
                    .attributes = {attribute::integer("allowzero").since(14)},
                    .moves_only = true,
                    .evaluate = reshape::evaluate,
                    .infer = reshape::infer,
                    .forward = forward_alias,
                    .backward = backward_alias,
                    .adds_up = adds_up_first,
                    .samples = reshape::samples};

}  // namespace plimsoll
