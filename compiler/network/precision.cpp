#include "compiler/network/precision.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/network/edit.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

// A single number is f32: it costs no memory, and may scale everything.
bool is_number(const TensorType& type) { return type.elements() == Affine{.fixed = 1}; }

bool has_reduced_result(const Network& network, const Node& node) {
  const auto reduced = [&](ValueId id) { return id.valid() && is_narrow(network.values[id].reduced); };
  switch (find_op(node.op)->precision) {
    case PrecisionRule::products: return true;
    case PrecisionRule::rows:
      return network.values[node.inputs[0]].kind == ValueKind::parameter || reduced(node.inputs[0]);
    case PrecisionRule::single: return false;
    case PrecisionRule::follows: break;
  }
  return std::any_of(node.inputs.begin(), node.inputs.end(), reduced);
}

// Finds the weights that every node reads in the narrow type, so that they are stored in it. A table from which nodes
// only take rows is stored in f32 if it is trained: a node rounds the rows that it reads, so nothing copies the table.
//   trained, bf16   in two halves (runtime/split_weight.h)
//   trained, f16    in f32: no lower half restores what is beyond the range of f16
//   frozen          rounded, as a cast would; a saved model has the numbers of the model's file
void narrow_weights(Network& network, DataType narrow) {
  struct Reads {
    bool in_products = false, as_rows = false, otherwise = false;
  };
  IdVector<ValueId, Reads> reads(network.values.size());
  for (const Node& node : network.nodes) {
    const Op& op = *find_op(node.op);
    const auto in_narrow = [&](ValueId id) { return id.valid() && network.values[id].reduced == narrow; };
    const bool reduced =
        node.marks.factors == narrow || std::any_of(node.outputs.begin(), node.outputs.end(), in_narrow);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      Reads& of = reads[node.inputs[i]];
      const bool factor = std::find(op.factors.begin(), op.factors.end(), i) != op.factors.end();
      if (reduced && factor) of.in_products = true;
      else if (reduced && op.precision == PrecisionRule::rows && i == 0) of.as_rows = true;
      else of.otherwise = true;
    }
  }
  for (const ValueId output : network.outputs) reads[output].otherwise = true;
  for (const ValueId id : ids_of(network.values)) {
    Value& value = network.values[id];
    if (value.kind != ValueKind::parameter || value.type.type != DataType::f32 || reads[id].otherwise) continue;
    const bool narrowed = value.trainable ? narrow == DataType::bf16 && reads[id].in_products
                                          : reads[id].in_products || reads[id].as_rows;
    if (narrowed) value.reduced = narrow;
  }
}

}  // namespace

Status assign_precision(Network& network, const PrecisionRequest& request) {
  if (request.precision == Precision::fp32) return {};
  const DataType narrow = request.precision == Precision::bf16 ? DataType::bf16 : DataType::f16;
  std::vector<bool> matched(request.keep_fp32.size());
  for (Node& node : network.nodes) {
    bool kept = false;
    for (size_t i = 0; i < request.keep_fp32.size(); ++i) {
      if (!node_matches(node, request.keep_fp32[i])) continue;
      matched[i] = kept = true;
    }
    const bool reduced = !kept && has_reduced_result(network, node);
    if (is_narrow(find_op(node.op)->marks.factors)) node.marks.factors = kept ? DataType::f32 : narrow;
    for (const ValueId output : node.outputs) {
      if (!output.valid()) continue;
      Value& value = network.values[output];
      const bool is_stored_so = reduced && value.type.type == DataType::f32 && !is_number(value.type);
      value.reduced = is_stored_so ? narrow : DataType::f32;
    }
  }
  for (size_t i = 0; i < matched.size(); ++i)
    if (!matched[i])
      return Error{ExitCode::usage, fmt::format("--keep-fp32 '{}' matches no node", request.keep_fp32[i]),
                   {"a pattern matches the name of a node or its module path, for example '*attention*'"}};
  narrow_weights(network, narrow);
  return {};
}

}  // namespace plimsoll
