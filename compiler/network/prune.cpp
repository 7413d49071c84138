#include "compiler/network/prune.h"

#include <algorithm>
#include <utility>

namespace plimsoll {

void prune_dead_nodes(Network& network) {
  IdVector<ValueId, bool> read(network.values.size(), false);
  for (const ValueId output : network.outputs)
    if (output.valid()) read[output] = true;
  std::vector<Node> kept;
  std::vector<NodeId> ids = ids_of(network.nodes);
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    Node& node = network.nodes[*id];
    for (ValueId& output : node.outputs)
      if (output.valid() && !read[output]) output = ValueId{};
    if (std::none_of(node.outputs.begin(), node.outputs.end(), [](ValueId v) { return v.valid(); })) continue;
    for (const ValueId input : node.inputs)
      if (input.valid()) read[input] = true;
    kept.push_back(std::move(node));
  }
  network.nodes = {};
  for (auto node = kept.rbegin(); node != kept.rend(); ++node) network.nodes.push_back(std::move(*node));
}

}  // namespace plimsoll
