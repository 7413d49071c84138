#include "compiler/network/samples_first.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

// The axis of the samples; 0 if there is none.
size_t axis_of_samples(const Dims& dims) {
  const auto samples = std::find_if(dims.begin(), dims.end(), [](Dim dim) { return dim.batch; });
  return samples == dims.end() ? 0 : static_cast<size_t>(samples - dims.begin());
}

void for_each_id(Network& network, const auto& body) {
  for (ValueId& id : network.inputs) body(id);
  for (ValueId& id : network.outputs) body(id);
  for (Node& node : network.nodes) {
    for (ValueId& id : node.inputs) body(id);
    for (ValueId& id : node.outputs) body(id);
  }
}

// Values are ordered by creation, and tensors of a task graph follow the order of values.
ValueId insert_behind(Network& network, ValueId place, Value value) {
  IdVector<ValueId, Value> values;
  ValueId inserted;
  for (const ValueId id : ids_of(network.values)) {
    values.push_back(std::move(network.values[id]));
    if (id == place) inserted = values.push_back(std::move(value));
  }
  network.values = std::move(values);
  for_each_id(network, [&](ValueId& id) {
    if (id > place) id = ValueId(int64_t{id.value} + 1);
  });
  return inserted;
}

void insert_at(Network& network, NodeId place, Node node) {
  IdVector<NodeId, Node> nodes;
  for (const NodeId id : ids_of(network.nodes)) {
    if (id == place) nodes.push_back(std::move(node));
    nodes.push_back(std::move(network.nodes[id]));
  }
  if (!network.nodes.contains(place)) nodes.push_back(std::move(node));
  network.nodes = std::move(nodes);
}

// "x", or "x:2" if that name is taken.
std::string free_name(const auto& named, const std::string& wanted) {
  const auto taken = [&](const std::string& name) {
    return std::any_of(named.begin(), named.end(), [&](const auto& one) { return one.name == name; });
  };
  std::string name = wanted;
  for (int copy = 2; taken(name); ++copy) name = fmt::format("{}:{}", wanted, copy);
  return name;
}

// From samples first to samples at `axis`.
std::vector<int64_t> permutation(size_t rank, size_t axis) {
  std::vector<int64_t> perm;
  for (size_t i = 0; i < rank; ++i) perm.push_back(static_cast<int64_t>(i < axis ? i + 1 : i == axis ? 0 : i));
  return perm;
}

// All readers of the input now read the node's output.
Node turn(Network& network, ValueId input) {
  const Value whole = network.values[input];
  const size_t axis = axis_of_samples(whole.type.dims);
  const std::string name = free_name(network.values, whole.name);
  const ValueId turned = insert_behind(network, input, {.name = name, .type = whole.type});
  for (Node& node : network.nodes) std::replace(node.inputs.begin(), node.inputs.end(), input, turned);
  std::replace(network.outputs.begin(), network.outputs.end(), input, turned);
  Dims& dims = network.values[input].type.dims;
  const auto samples = dims.begin() + static_cast<std::ptrdiff_t>(axis);
  std::rotate(dims.begin(), samples, samples + 1);
  return {.name = free_name(network.nodes, whole.name),
          .op = "Transpose",
          .opset = !network.nodes.empty() ? network.nodes[NodeId(0)].opset : 0,
          .inputs = {input},
          .outputs = {turned},
          .attributes = {{"perm", permutation(dims.size(), axis)}}};
}

}  // namespace

Status put_samples_first(Network& network, std::vector<std::string>& notes) {
  int turns = 0;
  for (size_t i = 0; i < network.inputs.size(); ++i) {
    const ValueId input = network.inputs[i];  // stays valid: new values are inserted after it
    const Value whole = network.values[input];
    if (axis_of_samples(whole.type.dims) == 0) continue;
    Node node = turn(network, input);
    const auto types = find_op(node.op)->infer(NodeView(network, node));
    if (!types.ok()) return types.error();
    notes.push_back(fmt::format("input '{}' is {}; files have its samples one behind the other, as {}", whole.name,
                                to_string(whole.type.dims), to_string(network.values[input].type.dims)));
    insert_at(network, NodeId(turns++), std::move(node));
  }
  return {};
}

}  // namespace plimsoll
