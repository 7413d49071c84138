#include "compiler/network/edit.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

namespace plimsoll {

std::string unused_name(const Network& network, const std::string& wish) {
  const auto taken = [&](const std::string& name) {
    return std::any_of(network.values.begin(), network.values.end(), [&](const Value& v) { return v.name == name; }) ||
           std::any_of(network.nodes.begin(), network.nodes.end(), [&](const Node& n) { return n.name == name; });
  };
  std::string name = wish;
  for (int i = 2; taken(name); ++i) name = fmt::format("{}/{}", wish, i);
  return name;
}

ValueId add_value(Network& network, const std::string& name, ValueKind kind, TensorType type) {
  return network.values.push_back({.name = unused_name(network, name), .kind = kind, .type = std::move(type)});
}

std::optional<NodeId> maker_of(const Network& network, ValueId value) {
  for (const NodeId id : ids_of(network.nodes)) {
    const std::vector<ValueId>& outputs = network.nodes[id].outputs;
    if (std::find(outputs.begin(), outputs.end(), value) != outputs.end()) return id;
  }
  return std::nullopt;
}

IdVector<ValueId, bool> made_of(const Network& network, ValueId value) {
  IdVector<ValueId, bool> parts(network.values.size(), false);
  parts[value] = true;
  const std::vector<NodeId> ids = ids_of(network.nodes);
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    const Node& node = network.nodes[*id];
    const auto is_part = [&](ValueId output) { return output.valid() && parts[output]; };
    if (std::none_of(node.outputs.begin(), node.outputs.end(), is_part)) continue;
    for (const ValueId input : node.inputs)
      if (input.valid()) parts[input] = true;
  }
  return parts;
}

bool node_matches(const Node& node, const std::string& pattern) {
  const auto fits = [&](const std::string& name) {
    return !name.empty() && fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  };
  return fits(node.name) || fits(node.module_path);
}

}  // namespace plimsoll
