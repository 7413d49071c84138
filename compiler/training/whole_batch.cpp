#include "compiler/training/whole_batch.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

enum class Knows {
  nothing,  // independent of samples: the same in every round
  each,     // has a dimension of samples and treats each independently
  sum,      // a sum over samples; each round has a share
};

// What the node's outputs depend on; nullopt: only the whole batch gives the right result.
std::optional<Knows> knows_of(const NodeView& node, const std::vector<Knows>& inputs) {
  const auto any = [&](Knows what) { return std::find(inputs.begin(), inputs.end(), what) != inputs.end(); };
  const std::vector<ValueId>& outputs = node.node().outputs;
  const bool keeps_samples = std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
    return output.valid() && node.network().values[output].type.depends_on_batch();
  });
  const Op* const op = find_op(node.node().op);
  if (any(Knows::sum)) {
    std::vector<bool> sums;
    for (const Knows input : inputs) sums.push_back(input == Knows::sum);
    const bool adds_up = op->adds_up && !any(Knows::each) && !keeps_samples && op->adds_up(node, sums);
    return adds_up ? std::optional(Knows::sum) : std::nullopt;
  }
  if (!any(Knows::each)) return keeps_samples ? Knows::each : Knows::nothing;
  if (keeps_samples) return Knows::each;
  if (op->wants_all_samples && op->wants_all_samples(node)) return std::nullopt;
  return op->sums_samples ? std::optional(Knows::sum) : std::nullopt;
}

}  // namespace

IdVector<NodeId, bool> nodes_of_whole_batch(const Network& network) {
  IdVector<NodeId, bool> whole(network.nodes.size(), false);
  IdVector<ValueId, Knows> known(network.values.size(), Knows::nothing);
  for (const ValueId input : network.inputs)
    if (network.values[input].type.depends_on_batch()) known[input] = Knows::each;
  bool any = false;
  for (const NodeId id : ids_of(network.nodes)) {
    const Node& node = network.nodes[id];
    std::vector<Knows> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(input.valid() ? known[input] : Knows::nothing);
    const auto found = knows_of(NodeView(network, node), inputs);
    if (!found) whole[id] = any = true;
    for (const ValueId output : node.outputs)
      if (output.valid())
        known[output] = found ? *found : network.values[output].type.depends_on_batch() ? Knows::each : Knows::sum;
  }
  if (network.nodes.empty()) return whole;
  // A loss without samples would count once per round. Errors found earlier are reported at the last node too, because
  // it has a task.
  const NodeId last(static_cast<int64_t>(network.nodes.size()) - 1);
  const ValueId loss = network.nodes[last].outputs[0];
  whole[last] = whole[last] || any || known[loss] != Knows::sum;
  return whole;
}

}  // namespace plimsoll
