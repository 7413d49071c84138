#include "compiler/network/unexpanded.h"

#include "compiler/network/prune.h"
#include "compiler/network/value_uses.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

// The results, and the layouts, of the node with this operand are those of the node as it is.
bool may_read(const Network& network, const Node& node, size_t input, ValueId operand) {
  const Op& op = *find_op(node.op);
  Node other = node;
  other.inputs[input] = operand;
  const NodeView as_is(network, node), instead(network, other);
  if (op.layout_of && op.layout_of(as_is) != op.layout_of(instead)) return false;
  const auto types = op.infer(instead);
  return types.ok() && (*types)[0] == network.values[node.outputs[0]].type;
}

}  // namespace

void leave_out_expands(Network& network) {
  const ValueUses uses(network);
  bool found = false;
  for (Node& node : network.nodes) {
    if (find_op(node.op)->samples_rule != SamplesRule::broadcast) continue;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const NodeId maker = node.inputs[i].valid() ? uses.maker[node.inputs[i]] : NodeId();
      if (!maker.valid() || network.nodes[maker].op != "Expand") continue;
      const ValueId operand = network.nodes[maker].inputs[0];
      if (network.values[operand].kind == ValueKind::constant || !may_read(network, node, i, operand)) continue;
      node.inputs[i] = operand;
      found = true;
    }
  }
  if (found) prune_dead_nodes(network);
}

}  // namespace plimsoll
