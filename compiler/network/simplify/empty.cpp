#include "compiler/network/simplify/empty.h"

#include <algorithm>

#include "compiler/network/simplify/node_values.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

bool is_empty(const Dims& dims) {
  return std::any_of(dims.begin(), dims.end(), [](Dim dim) { return dim.value == 0; });
}

}  // namespace

std::optional<KnownValue> empty_output(const Network& network, ValueTable& table, const ModelNode& source,
                                       int64_t opset) {
  const Op* op = find_onnx_op(source.op);
  if (!op || !op->evaluate_dims || source.inputs.empty() || source.inputs[0].empty()) return std::nullopt;
  const ElementType element = element_of(network, table[table.find(source.inputs[0])]);
  if (element == ElementType::undefined) return std::nullopt;
  const auto dims = op->evaluate_dims({source, opset, known_inputs(network, table, source)});
  return dims && is_empty(*dims) ? std::optional(KnownValue{.element = element, .dims = *dims}) : std::nullopt;
}

std::optional<ModelNode> without_empty_parts(ValueTable& table, const ModelNode& source) {
  const Op* op = find_onnx_op(source.op);
  if (!op || op->elements != Elements::joined) return std::nullopt;
  ModelNode less = source;
  less.inputs.clear();
  for (const std::string& name : source.inputs) {
    const Dims* dims = name.empty() ? nullptr : table.dims(table.find(name));
    if (!dims || !is_empty(*dims)) less.inputs.push_back(name);
  }
  if (less.inputs.empty() || less.inputs.size() == source.inputs.size()) return std::nullopt;
  return less;
}

}  // namespace plimsoll
