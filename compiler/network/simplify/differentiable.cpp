#include "compiler/network/simplify/differentiable.h"

#include <algorithm>
#include <string_view>

#include "compiler/network/simplify/exporter_numbers.h"
#include "compiler/network/simplify/fold.h"
#include "compiler/network/simplify/fx_node.h"
#include "compiler/network/simplify/graph_edit.h"
#include "compiler/ir/known_value.h"
#include "compiler/network/simplify/weight_roles.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

bool has_slope(const ModelNode& node, size_t input) {
  const Op* op = find_onnx_op(node.op);
  if (!op) return true;
  const ModelAttribute* type = op->element_type.empty() ? nullptr : find_attribute(node, op->element_type);
  return has_slope(*op, input) && (!type || is_real(type->element()));
}

}  // namespace

bool is_detached(const ModelNode& node, const Model& model) {
  if (node.op != "Identity" || !is_of_onnx(node) || node.outputs.size() != 1) return false;
  if (model.author && model.author->detached.contains(node.outputs[0])) return true;
  return is_call_of(node, "aten.detach.default");
}

std::unordered_set<std::string> reached_by_gradients(const Model& model, const GraphOrder& order) {
  std::unordered_set<std::string> reached;
  for (const auto& output : model.outputs) reached.insert(output.name);
  for (auto index = order.nodes.rbegin(); index != order.nodes.rend(); ++index) {
    const ModelNode& node = model.nodes[*index];
    if (std::none_of(node.outputs.begin(), node.outputs.end(),
                     [&](const std::string& name) { return reached.contains(name); }))
      continue;
    if (is_detached(node, model)) continue;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (has_slope(node, i)) reached.insert(node.inputs[i]);
  }
  if (model.author) {
    for (const ModelTensor& tensor : model.initializers)
      if (!model.author->trained.contains(tensor.name)) reached.erase(tensor.name);
    return reached;
  }
  for (const auto& [name, kind] : exporter_marks(model))
    if (kind != "PARAMETER") reached.erase(name);
  for (const auto& [name, why] : exporter_numbers(model)) reached.erase(name);
  return reached;
}

}  // namespace plimsoll
