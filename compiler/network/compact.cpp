#include "compiler/network/compact.h"

#include <fmt/format.h>

#include "compiler/network/prune.h"

namespace plimsoll {

void compact(Network& network, std::vector<std::string>& notes) {
  prune_dead_nodes(network);
  IdVector<ValueId, bool> mentioned(network.values.size(), false);
  const auto mention = [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids)
      if (id.valid()) mentioned[id] = true;
  };
  mention(network.outputs);
  for (const Node& node : network.nodes) {
    mention(node.inputs);
    mention(node.outputs);
  }

  IdVector<ValueId, Value> values;
  IdVector<ValueId, ValueId> moved(network.values.size());
  const auto move_all = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids)
      if (id.valid()) id = moved[id];
  };
  std::vector<ValueId> inputs;
  for (const ValueId input : network.inputs) {
    if (mentioned[input]) inputs.push_back(input);
    else notes.push_back(fmt::format("input '{}' is ignored: no output depends on it", network.values[input].name));
  }
  for (const ValueId id : ids_of(network.values))
    if (mentioned[id]) moved[id] = values.push_back(std::move(network.values[id]));
  network.values = std::move(values);
  network.inputs = std::move(inputs);
  move_all(network.inputs);
  move_all(network.outputs);
  for (Node& node : network.nodes) {
    move_all(node.inputs);
    move_all(node.outputs);
  }
}

}  // namespace plimsoll
