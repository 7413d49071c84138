#include "compiler/network/merge_alike.h"

#include <algorithm>
#include <map>
#include <type_traits>
#include <utility>

#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

bool same_data(const ConstantData& a, const ConstantData& b) { return a.ints == b.ints && a.reals == b.reals; }

bool same_attribute(const NodeAttribute& a, const NodeAttribute& b) {
  return a.index() == b.index() && std::visit([&](const auto& one) {
    using Kind = std::decay_t<decltype(one)>;
    if constexpr (std::is_same_v<Kind, ConstantData>) return same_data(one, std::get<Kind>(b));
    else return one == std::get<Kind>(b);
  }, a);
}

class AlikeMerger {
 public:
  explicit AlikeMerger(Network& network)
      : network_(network), trained_(network.values.size(), false), is_output_(network.values.size(), false) {
    for (const ValueId id : ids_of(network.values)) {
      const Value& value = network.values[id];
      trained_[id] = value.kind == ValueKind::statistic || (value.kind == ValueKind::parameter && value.trainable);
    }
    for (const ValueId output : network.outputs) is_output_[output] = true;
  }

  void run() {
    IdVector<NodeId, bool> merged(network_.nodes.size(), false);
    for (const NodeId id : ids_of(network_.nodes)) {
      Node& node = network_.nodes[id];
      for (ValueId& input : node.inputs)
        if (const auto other = instead_.find(input); other != instead_.end()) input = other->second;
      if (!may_merge(node)) continue;
      std::vector<NodeId>& candidates = first_[{node.op, node.inputs[0]}];
      const auto is_alike = [&](NodeId other) { return alike(network_.nodes[other], node); };
      const auto found = std::ranges::find_if(candidates, is_alike);
      if (found == candidates.end()) {
        candidates.push_back(id);
        continue;
      }
      for (size_t i = 0; i < node.outputs.size(); ++i)
        if (node.outputs[i].valid()) instead_[node.outputs[i]] = network_.nodes[*found].outputs[i];
      merged[id] = true;
    }
    network_.nodes.erase_if([&](NodeId id) { return merged[id]; });
  }

 private:
  // Also notes whether the results depend on what is trained.
  bool may_merge(const Node& node) {
    const bool trained = std::ranges::any_of(node.inputs, [&](ValueId id) { return id.valid() && trained_[id]; });
    bool is_read_outside = false;
    for (const ValueId output : node.outputs) {
      if (!output.valid()) continue;
      trained_[output] = trained;
      is_read_outside = is_read_outside || is_output_[output];
    }
    // Of ONNX's operators, those that draw random numbers have a seed.
    return !trained && !is_read_outside && !node.inputs.empty() && node.inputs[0].valid() &&
           !has_attribute(*find_op(node.op), "seed");
  }

  bool alike(const Node& a, const Node& b) const {
    const auto same_attributes = [&] {
      return std::ranges::equal(a.attributes, b.attributes, [](const auto& one, const auto& other) {
        return one.first == other.first && same_attribute(one.second, other.second);
      });
    };
    const auto same_outputs = [&] {
      return std::ranges::equal(a.outputs, b.outputs, [](ValueId one, ValueId other) {
        return one.valid() == other.valid();
      });
    };
    return a.op == b.op && a.opset == b.opset && a.marks == b.marks &&
           std::ranges::equal(a.inputs, b.inputs, [&](ValueId one, ValueId other) { return same(one, other); }) &&
           same_outputs() && same_attributes();
  }

  // Constants are compared by their elements.
  bool same(ValueId a, ValueId b) const {
    if (a == b) return true;
    if (!a.valid() || !b.valid()) return false;
    const Value &one = network_.values[a], &other = network_.values[b];
    return one.constant && other.constant && one.type == other.type && same_data(*one.constant, *other.constant);
  }

  Network& network_;
  IdVector<ValueId, bool> trained_, is_output_;
  std::map<ValueId, ValueId> instead_;
  std::map<std::pair<std::string, ValueId>, std::vector<NodeId>> first_;  // by operator and first input
};

}  // namespace

void merge_alike(Network& network) { AlikeMerger(network).run(); }

}  // namespace plimsoll
