#include "compiler/network/merged_turns.h"

#include <algorithm>
#include <string>
#include <utility>

#include "compiler/network/edit.h"
#include "compiler/network/prune.h"
#include "compiler/ops/node_view.h"

namespace plimsoll {
namespace {

using Axes = std::vector<int64_t>;
struct Turns {
  Axes heads, keys, both;
};
const Turns kTurns[] = {{{0, 2, 1, 3}, {0, 1, 3, 2}, {0, 2, 3, 1}}, {{1, 0, 2}, {0, 2, 1}, {1, 2, 0}}};

bool turns_by(const Network& network, const Node& node, const Axes& axes) {
  return node.op == "Transpose" && node.marks == NodeMarks{} && NodeView(network, node).integers("perm") == axes;
}

Dims permuted(const Dims& x, const Axes& axes) {
  Dims y = x;
  for (size_t i = 0; i < axes.size(); ++i) y[i] = x[static_cast<size_t>(axes[i])];
  return y;
}

// The only node that reads the value; nullptr: several do, or none, or it is an output.
Node* sole_reader(Network& network, ValueId value) {
  if (std::find(network.outputs.begin(), network.outputs.end(), value) != network.outputs.end()) return nullptr;
  Node* sole = nullptr;
  for (Node& node : network.nodes) {
    const auto times = std::count(node.inputs.begin(), node.inputs.end(), value);
    if (times == 0) continue;
    if (sole || times > 1) return nullptr;
    sole = &node;
  }
  return sole;
}

}  // namespace

std::vector<ValueId> separate_turns(Network& network) {
  std::vector<ValueId> heads;
  IdVector<NodeId, Node> nodes;
  for (Node node : std::exchange(network.nodes, {})) {
    for (const Turns& turns : kTurns) {
      if (!turns_by(network, node, turns.both)) continue;
      Node first = node;
      const TensorType x = network.values[node.inputs[0]].type;
      first.name = node.name + "/heads";
      first.attributes["perm"] = turns.heads;
      first.outputs = {
          add_value(network, first.name, ValueKind::intermediate, {x.type, permuted(x.dims, turns.heads)})};
      node.inputs = first.outputs;
      node.attributes["perm"] = turns.keys;
      heads.push_back(first.outputs[0]);
      nodes.push_back(std::move(first));
    }
    nodes.push_back(std::move(node));
  }
  network.nodes = std::move(nodes);
  return heads;
}

void merge_turns(Network& network, const std::vector<ValueId>& heads) {
  if (heads.empty()) return;
  for (const ValueId value : heads) {
    Node* const reader = sole_reader(network, value);
    const auto maker = maker_of(network, value);
    if (!reader || !maker) continue;
    for (const Turns& turns : kTurns) {
      if (!turns_by(network, *reader, turns.keys)) continue;
      reader->inputs = network.nodes[*maker].inputs;
      reader->attributes["perm"] = turns.both;
    }
  }
  prune_dead_nodes(network);
}

}  // namespace plimsoll
