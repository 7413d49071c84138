// What tf2onnx has changed in a model of Keras. Its files name nodes and initializers after TensorFlow's nodes.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "compiler/network/simplify/findings.h"
#include "compiler/ops/node_view.h"
#include "compiler/ops/op.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

// Batch normalizations of tf.nn.batch_normalization, which has this scope.
constexpr std::string_view kScope = "/batchnorm/";

// The node that alone reads each value; nullptr if there is none.
using SoleReaders = IdVector<ValueId, const Node*>;

SoleReaders find_sole_readers(const Network& network) {
  SoleReaders readers(network.values.size(), nullptr);
  IdVector<ValueId, bool> several(network.values.size(), false);
  for (const Node& node : network.nodes)
    for (const ValueId input : node.inputs) {
      if (!input.valid()) continue;
      several[input] = several[input] || (readers[input] && readers[input] != &node);
      readers[input] = several[input] ? nullptr : &node;
    }
  return readers;
}

bool is_initializer(const Network& network, ValueId value) {
  return value.valid() && !network.values[value].initializer.empty();
}

bool reads_initializer(const Network& network, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return is_initializer(network, input); });
}

// Whether something is added to the layer's result before anything else is computed from it.
bool has_bias(const Network& network, const SoleReaders& readers, const Node& layer) {
  if (layer.inputs.size() > 2 && layer.inputs[2].valid()) return true;
  const Node* node = readers[layer.outputs[0]];
  while (node) {
    if (node->op == "Add" || node->op == "Sub" || node->op.ends_with("Normalization"))
      return reads_initializer(network, *node);
    const bool scales = node->op == "Mul" && reads_initializer(network, *node);
    if (!scales && find_op(node->op)->elements != Elements::shown) return false;
    node = readers[node->outputs[0]];
  }
  return false;
}

}  // namespace

int64_t count_folded_by_tf2onnx(const Model& model) {
  std::set<std::string_view> folded, computed;
  const auto scope_of = [](std::string_view name) { return name.substr(0, name.find(kScope)); };
  for (const ModelTensor& tensor : model.initializers)
    if (tensor.name.find(kScope) != std::string::npos) folded.insert(scope_of(tensor.name));
  for (const ModelNode& node : model.nodes) {
    if (node.name.find(kScope) == std::string::npos) continue;
    folded.insert(scope_of(node.name));
    if (node.op == "Sqrt" || node.op == "Reciprocal") computed.insert(scope_of(node.name));
  }
  return static_cast<int64_t>(folded.size() - computed.size());
}

void find_doubled_biases(const Model& model, std::vector<std::string>& warnings) {
  if (model.producer != "tf2onnx" || model.author) return;
  constexpr size_t kBias = 3;
  const auto is_doubled = [](const ModelNode& node) {
    return node.op == "LSTM" && is_of_onnx(node) && node.inputs.size() > kBias && !node.inputs[kBias].empty();
  };
  const int64_t doubled = std::count_if(model.nodes.begin(), model.nodes.end(), is_doubled);
  if (doubled == 0) return;
  const ModelNode& first = *std::find_if(model.nodes.begin(), model.nodes.end(), is_doubled);
  warnings.push_back(
      fmt::format("tf2onnx writes the single bias of an LSTM of Keras as two halves, and both are trained: with SGD, "
                  "the biases of {} take steps of twice the size, first {}. plimsoll.export (docs/python.md) writes "
                  "one bias",
                  counted(doubled, "node"), describe(first)));
}

void find_dropped_biases(const Model& model, const Network& network, std::vector<std::string>& warnings) {
  if (model.producer != "tf2onnx" || model.author) return;
  int64_t layers = 0, without = 0;
  std::string first;
  const SoleReaders readers = find_sole_readers(network);
  for (const Node& node : network.nodes) {
    const bool layer = node.op == "Conv" || node.op == "ConvTranspose" || node.op == "MatMul" || node.op == "Gemm";
    if (!layer || !is_initializer(network, node.inputs[1]) || !network.values[node.inputs[1]].trainable) continue;
    ++layers;
    if (has_bias(network, readers, node)) continue;
    if (++without == 1) first = NodeView(network, node).describe();
  }
  if (without == 0) return;
  warnings.push_back(
      fmt::format("{} of {} have no bias, first {}. tf2onnx drops biases that are zero, as those of a new Keras model: "
                  "they are not trained then. plimsoll.export (docs/python.md) keeps them",
                  without, counted(layers, "layer"), first));
}

}  // namespace plimsoll
