#include "compiler/import/prune.h"

#include <fmt/format.h>

namespace plimsoll {

Network prune(const Network& network, std::vector<std::string>& notes) {
  IdVector<ValueId, bool> live(network.values.size(), false);
  IdVector<NodeId, bool> kept(network.nodes.size(), false);
  for (const ValueId output : network.outputs) live[output] = true;
  for (int64_t i = static_cast<int64_t>(network.nodes.size()) - 1; i >= 0; --i) {
    const Node& node = network.nodes[NodeId(i)];
    bool needed = false;
    for (const ValueId output : node.outputs) needed = needed || (output.valid() && live[output]);
    if (!needed) continue;
    kept[NodeId(i)] = true;
    // Outputs that are there stay with their node, also where their only reader went.
    for (const ValueId output : node.outputs)
      if (output.valid()) live[output] = true;
    for (const ValueId input : node.inputs)
      if (input.valid()) live[input] = true;
  }

  Network pruned{.name = network.name};
  IdVector<ValueId, ValueId> moved(network.values.size());
  for (const ValueId id : ids_of(network.values))
    if (live[id]) moved[id] = pruned.values.push_back(network.values[id]);
  const auto move_all = [&](std::vector<ValueId> ids) {
    for (ValueId& id : ids)
      if (id.valid()) id = moved[id];
    return ids;
  };
  for (const NodeId id : ids_of(network.nodes)) {
    if (!kept[id]) continue;
    Node node = network.nodes[id];
    node.inputs = move_all(std::move(node.inputs));
    node.outputs = move_all(std::move(node.outputs));
    pruned.nodes.push_back(std::move(node));
  }
  for (const ValueId input : network.inputs) {
    if (live[input]) pruned.inputs.push_back(moved[input]);
    else notes.push_back(fmt::format("input '{}' is left out: no output depends on it", network.values[input].name));
  }
  pruned.outputs = move_all(network.outputs);
  return pruned;
}

}  // namespace plimsoll
