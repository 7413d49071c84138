#include "compiler/network/fuse.h"

#include "compiler/network/value_uses.h"
#include "compiler/ops/op.h"

namespace plimsoll {

void fuse_activations(Network& network) {
  ValueUses uses(network);
  IdVector<NodeId, bool> absorbed(network.nodes.size(), false);
  for (const NodeId id : ids_of(network.nodes)) {
    const Node& relu = network.nodes[id];
    if (relu.op != "Relu" || uses.readers[relu.inputs[0]] != 1 || !uses.maker[relu.inputs[0]].valid()) continue;
    Node& before = network.nodes[uses.maker[relu.inputs[0]]];
    const Op& op = *find_op(before.op);
    if (!op.absorbs_relu || !op.absorbs_relu(NodeView(network, before)) || before.outputs[0] != relu.inputs[0])
      continue;
    before.marks.relu = true;
    before.outputs[0] = relu.outputs[0];
    uses.maker[relu.outputs[0]] = uses.maker[relu.inputs[0]];
    absorbed[id] = true;
  }

  network.nodes.erase_if([&](NodeId id) { return absorbed[id]; });
}

}  // namespace plimsoll
