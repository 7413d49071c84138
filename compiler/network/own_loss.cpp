#include "compiler/network/own_loss.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/network/class_axis.h"
#include "compiler/network/edit.h"
#include "compiler/network/prune.h"
#include "compiler/ops/fed_labels.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

// On scores and class labels.
bool is_class_loss(const Node& node) {
  return node.op == "SoftmaxCrossEntropyLoss" || node.op == "NegativeLogLikelihoodLoss";
}

bool is_loss(const Node& node) {
  return is_class_loss(node) || node.op == "MseLoss" || node.op == "BinaryCrossEntropyLoss";
}

// A likelihood after a LogSoftmax is the cross entropy of the LogSoftmax's input, and the logarithms need not be kept.
void take_in_softmax(Network& network, Node& loss, std::vector<std::string>& notes) {
  if (loss.op != "NegativeLogLikelihoodLoss") return;
  const auto maker = maker_of(network, loss.inputs[0]);
  if (!maker || network.nodes[*maker].op != "LogSoftmax" || !normalises_axis(network, network.nodes[*maker], 1)) return;
  notes.push_back(said_removed(network, network.nodes[*maker]));
  loss.inputs[0] = network.nodes[*maker].inputs[0];
  loss.op = "SoftmaxCrossEntropyLoss";
}

}  // namespace

std::optional<NodeId> own_loss(const Network& network, ValueId output) {
  const auto maker = maker_of(network, output);
  const bool own = maker && is_loss(network.nodes[*maker]) && network.nodes[*maker].outputs[0] == output &&
                   NodeView(network, network.nodes[*maker]).text("reduction", "mean") != "none";
  return own ? maker : std::nullopt;
}

std::string said_removed(const Network& network, const Node& node) {
  return fmt::format("{} is removed: the loss includes it", NodeView(network, node).describe());
}

void keep_own_loss(Network& network, NodeId id, std::vector<std::string>& notes) {
  const ValueId loss = network.nodes[id].outputs[0];
  network.outputs = {loss};
  take_in_softmax(network, network.nodes[id], notes);
  prune_dead_nodes(network);
  // From here on the loss depends on every node, so it is the last.
  const NodeView node(network, network.nodes.back());
  std::optional<ValueId> labels;  // labels known to the trainer: it feeds them last, and reports hits
  if (!is_class_loss(node.node()))
    labels = node.node().inputs[1];
  else if (const auto fed = fed_labels(node))
    labels = fed->input;
  if (labels && is_class_loss(node.node())) {
    const ValueId correct = add_value(network, "correct", ValueKind::intermediate, {DataType::f32, {{1}}});
    network.nodes.back().outputs = {loss, correct};
    network.outputs.push_back(correct);
  }
  network.values[loss].type = {DataType::f32, {{1}}};
  if (!labels) return;
  while (const auto maker = maker_of(network, *labels)) labels = network.nodes[*maker].inputs[0];
  const auto last = std::find(network.inputs.begin(), network.inputs.end(), *labels);
  if (last != network.inputs.end()) std::rotate(last, last + 1, network.inputs.end());
}

}  // namespace plimsoll
