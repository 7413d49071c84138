#include "compiler/network/simplify/onnxruntime_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "compiler/network/simplify/onnxruntime_rules.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

KnownForms known_forms(const Model& model) {
  KnownForms forms;
  for (const ModelTensor& tensor : model.initializers) {
    forms.ranks.emplace(tensor.name, tensor.dims.size());
    forms.weights.emplace(tensor.name, tensor.dims);
  }
  for (const auto* values : {&model.inputs, &model.outputs, &model.values})
    for (const DeclaredValue& value : *values)
      if (value.dims) forms.ranks.emplace(value.name, value.dims->size());
  for (const ModelNode& node : model.nodes) {
    for (const std::string& output : node.outputs) forms.makers.emplace(output, node.op);
    if (node.op == "EmbedLayerNormalization" && node.outputs.size() > 1) forms.ranks.emplace(node.outputs[1], 1);
    if (node.inputs.empty() || node.outputs.empty()) continue;
    const auto found = forms.ranks.find(node.inputs[0]);
    if (found == forms.ranks.end()) continue;
    if (node.op == "Cast" || node.op == "Identity") forms.ranks.emplace(node.outputs[0], found->second);
    if (node.op == "ReduceSum") {
      const size_t fewer = forms.dropped_axes(node);
      if (fewer <= found->second) forms.ranks.emplace(node.outputs[0], found->second - fewer);
    }
  }
  return forms;
}

}  // namespace

void replace_onnxruntime_operators(Model& model, std::vector<std::string>& notes) {
  const auto is_fused = [&](const ModelNode& node) { return find_fused_rule(node, model.opset) != nullptr; };
  if (std::none_of(model.nodes.begin(), model.nodes.end(), is_fused)) return;
  const KnownForms forms = known_forms(model);
  std::unordered_set<std::string> read;
  for (const ModelNode& node : model.nodes) read.insert(node.inputs.begin(), node.inputs.end());
  for (const DeclaredValue& output : model.outputs) read.insert(output.name);
  std::vector<ModelNode> nodes;
  int64_t replaced = 0;
  for (ModelNode& node : std::exchange(model.nodes, {})) {
    const FusedRule rule = find_fused_rule(node, model.opset);
    if (!rule || node.outputs.empty() || node.outputs[0].empty() || node.inputs.empty()) {
      nodes.push_back(std::move(node));
      continue;
    }
    const Spelling spelling{.node = node,
                            .opset = model.opset,
                            .batch = 0,
                            .reads = [&](size_t i) { return read.contains(node.outputs[i]); }};
    FusedNode writer(spelling, forms);
    writer.enter("onnx");  // nodes that are written as others later make names of their own from the output's
    Result<spelling::Nodes> made = rule(writer);
    if (!made.ok()) {
      node.refusal = made.error().message;
      nodes.push_back(std::move(node));
      continue;
    }
    ++replaced;
    for (ModelNode& one : *made) {
      one.newest = true;
      nodes.push_back(std::move(one));
    }
  }
  model.nodes = std::move(nodes);
  if (replaced > 0)
    notes.push_back(
        fmt::format("{} of onnxruntime's operators {} replaced by the operators of ONNX that they stand for",
                    counted(replaced, "node"), is_or_are(replaced)));
}

}  // namespace plimsoll
