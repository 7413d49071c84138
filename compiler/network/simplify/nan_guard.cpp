#include "compiler/network/simplify/nan_guard.h"

#include <algorithm>

#include "compiler/network/simplify/fold.h"

namespace plimsoll {

bool only_guards(const Model& model, const GraphUses& uses, const ModelNode& source) {
  if (!is_of_onnx(source) || source.op != "IsNaN" || source.inputs.size() != 1) return false;
  const auto maker = uses.maker.find(source.inputs[0]);
  if (maker == uses.maker.end() || maker->second < 0) return false;
  if (const ModelNode& made_by = model.nodes[maker->second]; !is_of_onnx(made_by) || made_by.op != "Softmax")
    return false;
  const auto readers = uses.readers.find(source.outputs[0]);
  if (readers == uses.readers.end()) return false;
  return std::all_of(readers->second.begin(), readers->second.end(), [&](int reader) {
    const ModelNode* node = reader < 0 ? nullptr : &model.nodes[reader];
    return node && node->op == "Where" && is_of_onnx(*node) && node->inputs.size() == 3 &&
           node->inputs[0] == source.outputs[0] && node->inputs[1] != source.outputs[0] &&
           node->inputs[2] == source.inputs[0];
  });
}

bool puts_zero(ValueTable& table, const ModelNode& where) {
  const Dims* dims = table.dims(table.find(where.inputs[2]));
  const KnownValue* number = table.known_constant(table.find(where.inputs[1]));
  return dims && number && number->real() && number->elements() == 1 && number->dims.size() <= dims->size() &&
         number->number(0) == 0;
}

}  // namespace plimsoll
