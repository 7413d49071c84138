#include "compiler/network/fuse_additions.h"

#include <algorithm>

#include "compiler/network/value_uses.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

bool is_addition(const Network& network, const Node& node) {
  if ((node.op != "Add" && node.op != "Sum") || node.inputs.size() != 2) return false;
  const TensorType& y = network.values[node.outputs[0]].type;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    if (!input.valid()) return false;
    const Value& term = network.values[input];
    return (term.kind == ValueKind::intermediate || term.kind == ValueKind::input) && !term.constant && term.type == y;
  });
}

// The node that computes one term and can add the other. If both can, the later one, which is nearer to the Add.
NodeId who_absorbs(const Network& network, const ValueUses& uses, const Node& addition) {
  NodeId found;
  for (const ValueId term : addition.inputs) {
    const NodeId maker = uses.maker[term];
    if (!maker.valid() || uses.readers[term] != 1) continue;
    const Node& node = network.nodes[maker];
    const int addend = find_op(node.op)->addend;
    const bool free = addend >= 0 && node.inputs.size() <= static_cast<size_t>(addend) && node.outputs[0] == term;
    if (free && (!found.valid() || found < maker)) found = maker;
  }
  return found;
}

}  // namespace

void fuse_additions(Network& network) {
  const ValueUses uses(network);
  IdVector<NodeId, bool> moved(network.nodes.size(), false);
  for (const NodeId id : ids_of(network.nodes)) {
    Node& addition = network.nodes[id];
    if (!is_addition(network, addition)) continue;
    const NodeId absorbing = who_absorbs(network, uses, addition);
    if (!absorbing.valid()) continue;
    Node melted = std::move(network.nodes[absorbing]);
    const ValueId addend = addition.inputs[addition.inputs[0] == melted.outputs[0] ? 1 : 0];
    melted.inputs.resize(static_cast<size_t>(find_op(melted.op)->addend));
    melted.inputs.push_back(addend);
    melted.outputs = std::move(addition.outputs);
    addition = std::move(melted);
    moved[absorbing] = true;
  }

  network.nodes.erase_if([&](NodeId id) { return moved[id]; });
}

}  // namespace plimsoll
