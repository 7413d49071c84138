#include "compiler/network/simplify/differentiable.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "compiler/network/simplify/fold.h"
#include "compiler/network/simplify/graph_edit.h"
#include "compiler/network/simplify/known_value.h"
#include "compiler/network/simplify/weight_roles.h"
#include "compiler/ops/activation.h"

namespace plimsoll {
namespace {

// Operators without a gradient that have no kernels. compiler/ops knows the others.
constexpr std::array<std::string_view, 17> kFlat = {
    "And", "ArgMax", "ArgMin", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual", "NonZero", "Not",
    "OneHot", "Or", "Shape", "Size", "Xor"};

bool has_slope(const ModelNode& node, size_t input) {
  const std::string& op = node.op;
  if (std::find(kFlat.begin(), kFlat.end(), op) != kFlat.end()) return false;
  if (const Op* known = op == "Cast" ? nullptr : find_op(op); known && known->backward == zero_gradient) return false;
  if (op == "CastLike" && input == 1) return false;  // only its type is read
  if (op == "Where" && input == 0) return false;
  if ((op == "Gather" || op == "GatherElements" || op == "ScatterElements") && input == 1) return false;
  if (op == "RotaryEmbedding" && input > 0) return false;  // tables of angles: no exporter's are trained
  if (op != "Cast") return true;
  const ModelAttribute* to = find_attribute(node, "to");
  return !to || is_real(to->element());
}

}  // namespace

bool is_detached(const ModelNode& node, const Model& model) {
  if (node.op != "Identity" || !is_of_onnx(node) || node.outputs.size() != 1) return false;
  if (model.author && model.author->detached.contains(node.outputs[0])) return true;
  return std::any_of(node.metadata.begin(), node.metadata.end(), [](const auto& entry) {
    return entry.key == "pkg.torch.onnx.fx_node" && entry.value.find("torch.ops.aten.detach.default") != std::string::npos;
  });
}

std::unordered_set<std::string> reached_by_gradients(const Model& model, const GraphOrder& order) {
  std::unordered_set<std::string> reached;
  for (const auto& output : model.outputs) reached.insert(output.name);
  for (auto index = order.nodes.rbegin(); index != order.nodes.rend(); ++index) {
    const ModelNode& node = model.nodes[*index];
    if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](const std::string& name) { return reached.contains(name); }))
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
  return reached;
}

}  // namespace plimsoll
