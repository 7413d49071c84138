#include "compiler/network/prune.h"

#include <algorithm>
#include <utility>

namespace plimsoll {

void prune_dead_nodes(Network& network) {
  IdVector<ValueId, bool> read(network.values.size(), false);
  for (const ValueId output : network.outputs)
    if (output.valid()) read[output] = true;
  IdVector<NodeId, bool> dead(network.nodes.size(), false);
  bool any = false;
  for (int64_t i = static_cast<int64_t>(network.nodes.size()) - 1; i >= 0; --i) {
    Node& node = network.nodes[NodeId(i)];
    for (ValueId& output : node.outputs)
      if (output.valid() && !read[output]) output = ValueId{};
    if (std::none_of(node.outputs.begin(), node.outputs.end(), [](ValueId v) { return v.valid(); })) {
      dead[NodeId(i)] = any = true;
      continue;
    }
    for (const ValueId input : node.inputs)
      if (input.valid()) read[input] = true;
  }
  if (any) network.nodes.erase_if([&](NodeId id) { return dead[id]; });
}

}  // namespace plimsoll
