#include "compiler/network/joined_slices.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/network/edit.h"
#include "compiler/network/prune.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

// Elements of a value along an axis, and the nodes that select them.
struct Part {
  int64_t count = 0;
  std::vector<NodeId> nodes = {};
};

// The parts of a value along an axis that have the same step, by their first element.
struct Group {
  int64_t size = 0;  // of the axis
  std::map<int64_t, Part> parts = {};
  bool overlaps = false;
};

// The output is the first input, as that of a slice from 0 to the end.
bool is_as_it_is(const Network& network, const Node& node) {
  const Op& op = *find_op(node.op);
  const auto moves = op.moves ? op.moves(NodeView(network, node)) : std::nullopt;
  if (!moves || network.values[node.inputs[0]].type != network.values[node.outputs[0]].type) return false;
  for (size_t i = 0; i < moves->axis.size(); ++i)
    if (moves->axis[i] != static_cast<int64_t>(i) || moves->start[i] != 0 || moves->step[i] != 1) return false;
  return true;
}

std::optional<AxisPart> part_of(const Network& network, const Node& node) {
  const Op& op = *find_op(node.op);
  if (!op.part || node.marks != NodeMarks{}) return std::nullopt;
  const TensorType& whole = network.values[node.inputs[0]].type;
  const auto part = whole.type == DataType::f32 ? op.part(NodeView(network, node)) : std::nullopt;
  if (!part || part->step == 1) return part;
  // With a step, whole.reshape() has a further axis. Along the last one, elements would be copied one by one.
  const size_t rank = whole.rank();
  const bool may_step = part->step > 1 && part->axis + 1 < rank && rank < static_cast<size_t>(kMaxRank);
  return may_step ? part : std::nullopt;
}

// Every element is in one part.
bool is_whole(const Group& group, int64_t step) {
  if (group.overlaps || group.parts.size() < 2) return false;
  if (step > 1)
    return group.size % step == 0 && std::ssize(group.parts) == step && group.parts.rbegin()->first == step - 1 &&
           std::ranges::all_of(group.parts, [&](const auto& each) { return each.second.count == group.size / step; });
  int64_t end = 0;
  for (const auto& [first, part] : group.parts) {
    if (first != end) return false;
    end += part.count;
  }
  return end == group.size;
}

class Joiner {
 public:
  explicit Joiner(Network& network) : network_(network) {}

  // Returns whether anything was joined.
  bool run() {
    find();
    std::erase_if(groups_, [](const auto& group) { return !is_whole(group.second, std::get<2>(group.first)); });
    std::map<NodeId, Groups::const_iterator> begins;  // by the first node of each
    std::set<NodeId> joined;
    for (auto group = groups_.cbegin(); group != groups_.cend(); ++group) {
      std::set<NodeId> nodes;
      for (const auto& [first, part] : group->second.parts) nodes.insert(part.nodes.begin(), part.nodes.end());
      begins[*nodes.begin()] = group;
      joined.merge(nodes);
    }
    for (const NodeId id : ids_of(network_.nodes)) {
      if (const auto begin = begins.find(id); begin != begins.end()) split(begin->second->first, begin->second->second);
      if (joined.contains(id)) continue;
      Node node = network_.nodes[id];
      for (ValueId& input : node.inputs) input = known(input);
      nodes_.push_back(std::move(node));
    }
    network_.nodes = std::move(nodes_);
    return !groups_.empty();
  }

 private:
  using Key = std::tuple<ValueId, size_t, int64_t>;  // the value, the axis and the step
  using Groups = std::map<Key, Group>;

  void find() {
    for (const NodeId id : ids_of(network_.nodes)) {
      const Node& node = network_.nodes[id];
      if (is_as_it_is(network_, node)) as_it_is_[node.outputs[0]] = source(node.inputs[0]);
      const auto part = part_of(network_, node);
      const ValueId whole = part ? source(node.inputs[0]) : ValueId();
      if (!part || network_.values[whole].kind != ValueKind::intermediate) continue;
      Group& group = groups_[{whole, part->axis, part->step}];
      group.size = network_.values[whole].type.dims[part->axis].value;
      Part& there = group.parts.try_emplace(part->first, Part{part->count}).first->second;
      // A second node may not select the same if its result is an output, which has to stay.
      const bool is_output = std::ranges::count(network_.outputs, node.outputs[0]) > 0;
      if (there.count != part->count || (is_output && !there.nodes.empty())) group.overlaps = true;
      there.nodes.push_back(id);
    }
  }

  ValueId source(ValueId value) const {
    const auto found = as_it_is_.find(value);
    return found == as_it_is_.end() ? value : found->second;
  }

  ValueId known(ValueId value) const {
    const auto other = instead_.find(value);
    return other == instead_.end() ? value : other->second;
  }

  ValueId reshaped(const Node& of, const std::string& name, ValueId x, ValueId y) {
    std::vector<int64_t> target;
    for (const Dim& dim : network_.values[y].type.dims) target.push_back(dim.batch ? -1 : dim.value);
    nodes_.push_back({.name = unused_name(network_, name),
                      .op = "Reshape",
                      .opset = 1,  // whose target is an attribute
                      .inputs = {x},
                      .outputs = {y},
                      .attributes = {{"shape", std::move(target)}},
                      .module_path = of.module_path});
    return y;
  }

  ValueId made(const std::string& name, Dims dims) {
    return add_value(network_, unused_name(network_, name), ValueKind::intermediate, {DataType::f32, std::move(dims)});
  }

  void split(const Key& key, const Group& group) {
    auto [x, axis, step] = key;
    const Node& first = network_.nodes[group.parts.begin()->second.nodes[0]];
    x = known(x);
    Dims dims = network_.values[x].type.dims;
    if (step > 1) {
      dims[axis].value = group.size / step;
      dims.insert(dims.begin() + static_cast<int64_t>(axis) + 1, Dim{step});
      x = reshaped(first, first.name + "/steps", x, made(first.name + "/steps.y", dims));
      ++axis;
    }
    Node split{.name = unused_name(network_, first.name + "/split"),
               .op = "Split",
               .opset = 11,  // whose lengths are an attribute
               .inputs = {x},
               .module_path = first.module_path};
    std::vector<int64_t> lengths;
    std::vector<std::pair<ValueId, ValueId>> other_dims;  // an output of Split, and the same elements as they are read
    for (const auto& [at, part] : group.parts) {
      dims[axis].value = step > 1 ? 1 : part.count;
      lengths.push_back(dims[axis].value);
      const Node& selects = network_.nodes[part.nodes[0]];
      const ValueId read = selects.outputs[0];
      const bool is_same = network_.values[read].type.dims == dims;
      split.outputs.push_back(is_same ? read : made(selects.name + "/part", dims));
      if (!is_same) other_dims.emplace_back(split.outputs.back(), read);
      for (size_t i = 1; i < part.nodes.size(); ++i) {
        const ValueId again = network_.nodes[part.nodes[i]].outputs[0];
        if (network_.values[again].type.dims == network_.values[read].type.dims) instead_[again] = read;
        else other_dims.emplace_back(split.outputs.back(), again);
      }
    }
    split.attributes = {{"axis", static_cast<int64_t>(axis)}, {"split", std::move(lengths)}};
    nodes_.push_back(std::move(split));
    for (const auto& [part, read] : other_dims) reshaped(first, network_.values[read].name + "/part", part, read);
  }

  Network& network_;
  Groups groups_;
  IdVector<NodeId, Node> nodes_;         // after this run
  std::map<ValueId, ValueId> as_it_is_;  // a result that is another value: that value
  std::map<ValueId, ValueId> instead_;   // of a result that is computed twice
};

}  // namespace

void join_slices(Network& network) {
  // Slices of a part that was selected twice are of one value only once that is known.
  bool joined = false;
  while (Joiner(network).run()) joined = true;
  if (joined) prune_dead_nodes(network);
}

}  // namespace plimsoll
