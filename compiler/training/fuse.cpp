#include "compiler/training/fuse.h"

#include <algorithm>

#include "compiler/ops/op.h"

namespace plimsoll {

void fuse_activations(Network& network) {
  IdVector<ValueId, int> readers(network.values.size(), 0);
  IdVector<ValueId, NodeId> maker(network.values.size());
  for (const NodeId id : ids_of(network.nodes)) {
    for (const ValueId input : network.nodes[id].inputs)
      if (input.valid()) ++readers[input];
    for (const ValueId output : network.nodes[id].outputs)
      if (output.valid()) maker[output] = id;
  }
  for (const ValueId output : network.outputs) ++readers[output];

  IdVector<NodeId, bool> absorbed(network.nodes.size(), false);
  for (const NodeId id : ids_of(network.nodes)) {
    const Node& relu = network.nodes[id];
    if (relu.op != "Relu" || readers[relu.inputs[0]] != 1 || !maker[relu.inputs[0]].valid()) continue;
    Node& before = network.nodes[maker[relu.inputs[0]]];
    const Op& op = *find_op(before.op);
    if (!op.absorbs_relu || !op.absorbs_relu(NodeView(network, before)) || before.outputs[0] != relu.inputs[0]) continue;
    before.attributes["relu"] = int64_t{1};
    before.outputs[0] = relu.outputs[0];
    maker[relu.outputs[0]] = maker[relu.inputs[0]];
    absorbed[id] = true;
  }

  IdVector<NodeId, Node> kept;
  for (const NodeId id : ids_of(network.nodes))
    if (!absorbed[id]) kept.push_back(std::move(network.nodes[id]));
  network.nodes = std::move(kept);
}

}  // namespace plimsoll
