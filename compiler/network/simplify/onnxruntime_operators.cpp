#include "compiler/network/simplify/onnxruntime_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "compiler/network/simplify/onnxruntime_rules.h"
#include "compiler/ops/attribute_rule.h"
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

// Attributes of the operators of the list, by the types of ONNX. No name has two types.
std::string wrong_attribute(const ModelNode& node) {
  using enum AttributeKind;
  static const std::map<std::string_view, AttributeKind> kinds = {
      {"activation", text},
      {"activation_alpha", real},
      {"activation_beta", real},
      {"activation_gamma", real},
      {"activation_params", reals},
      {"alpha", real},
      {"auto_pad", text},
      {"axis", integer},
      {"beta", real},
      {"dilations", integers},
      {"do_rotary", integer},
      {"epsilon", real},
      {"group", integer},
      {"interleaved", integer},
      {"is_packed_batching", integer},
      {"kernel_shape", integers},
      {"mask_filter_value", real},
      {"mask_index_type", integer},
      {"num_heads", integer},
      {"pads", integers},
      {"past_present_share_buffer", integer},
      {"qkv_hidden_sizes", integers},
      {"rotary_embedding_dim", integer},
      {"scale", real},
      {"stash_type", integer},
      {"strides", integers},
      {"transA", integer},
      {"transB", integer},
      {"transBatchA", integer},
      {"transBatchB", integer},
      {"unidirectional", integer},
  };
  for (const ModelAttribute& attribute : node.attributes) {
    const auto found = kinds.find(attribute.name);
    if (found == kinds.end()) return fmt::format("its attribute '{}' is not known", attribute.name);
    if (attribute.value.index() != static_cast<size_t>(found->second))
      return fmt::format("its attribute '{}' has another type than onnxruntime defines", attribute.name);
  }
  return {};
}

}  // namespace

void replace_onnxruntime_operators(Model& model, std::vector<std::string>& notes) {
  const auto is_fused = [&](const ModelNode& node) { return find_fused_rule(node, model.opset) != nullptr; };
  if (std::none_of(model.nodes.begin(), model.nodes.end(), is_fused)) return;
  const KnownForms forms = known_forms(model);
  std::unordered_set<std::string> read, made_by_model;
  for (const ModelNode& node : model.nodes) {
    read.insert(node.inputs.begin(), node.inputs.end());
    made_by_model.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const DeclaredValue& output : model.outputs) read.insert(output.name);
  for (const DeclaredValue& input : model.inputs) made_by_model.insert(input.name);
  for (const ModelTensor& tensor : model.initializers) made_by_model.insert(tensor.name);
  std::vector<ModelNode> nodes;
  int64_t replaced = 0, scalers = 0;
  for (ModelNode& node : std::exchange(model.nodes, {})) {
    const FusedRule rule = find_fused_rule(node, model.opset);
    if (!rule || node.outputs.empty() || node.outputs[0].empty() || node.inputs.empty()) {
      nodes.push_back(std::move(node));
      continue;
    }
    const Spelling spelling{.node = node,
                            .opset = model.opset,
                            .batch = 0,
                            .reads = [&](size_t i) { return read.contains(node.outputs[i]); },
                            .taken = [&](const std::string& name) { return made_by_model.contains(name); }};
    FusedNode writer(spelling, forms);
    writer.enter("onnx");  // nodes that are written as others later make names of their own from the output's
    const bool scales = node.domain == kClassicalDomain;  // its rule checks its attributes
    const std::string wrong = scales ? std::string() : wrong_attribute(node);
    Result<spelling::Nodes> made = wrong.empty() ? rule(writer) : writer.unsupported(wrong);
    if (!made.ok()) {
      node.refusal = made.error().message;
      nodes.push_back(std::move(node));
      continue;
    }
    ++(scales ? scalers : replaced);
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
  if (scalers > 0)
    notes.push_back(fmt::format("{} of {} {} part of the model, and not trained: the data are not scaled before",
                                counted(scalers, "Scaler"), kClassicalDomain, is_or_are(scalers)));
}

}  // namespace plimsoll
