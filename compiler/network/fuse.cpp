#include "compiler/network/fuse.h"

#include "compiler/network/value_uses.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

FusedActivation activation_of(const NodeView& node) {
  const std::string& op = node.node().op;
  if (op == "Relu") return FusedActivation::relu;
  if (op == "HardSwish") return FusedActivation::hard_swish;
  if (op == "Swish" && node.real("alpha", 1) == 1) return FusedActivation::swish;
  return FusedActivation::none;
}

}  // namespace

void fuse_activations(Network& network) {
  ValueUses uses(network);
  IdVector<NodeId, bool> absorbed(network.nodes.size(), false);
  for (const NodeId id : ids_of(network.nodes)) {
    const Node& node = network.nodes[id];
    const FusedActivation activation = activation_of(NodeView(network, node));
    if (activation == FusedActivation::none) continue;
    const ValueId input = node.inputs[0], output = node.outputs[0];
    if (uses.readers[input] != 1 || !uses.maker[input].valid()) continue;
    Node& before = network.nodes[uses.maker[input]];
    const Op& op = *find_op(before.op);
    const bool fused = before.marks.activation != FusedActivation::none;
    if (fused || !op.absorbs || !op.absorbs(NodeView(network, before), activation) || before.outputs[0] != input)
      continue;
    before.marks.activation = activation;
    before.outputs[0] = output;
    uses.maker[output] = uses.maker[input];
    absorbed[id] = true;
  }

  network.nodes.erase_if([&](NodeId id) { return absorbed[id]; });
}

}  // namespace plimsoll
