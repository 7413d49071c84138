#include "compiler/report/network_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "compiler/report/table.h"
#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

constexpr size_t kBarWidth = 30;

struct Group {
  std::string name;
  int64_t tensors = 0, elements = 0, bytes = 0;
  void add(const Value& value) {
    ++tensors;
    elements += value.type.at(1).elements();
    bytes += value.type.at(1).bytes();
  }
};

std::string signature_of(const Network& network, const std::vector<ValueId>& values, bool color, const char* what) {
  Table table({{"", false, 40}, {"", false, 50}});
  for (ValueId value : values) table.row({network.values[value].name, to_string(network.values[value].type)});
  return heading(what, color) + table.print(color);
}

std::string operators(const Network& network, bool color) {
  std::map<std::string, int64_t> counts;
  for (const Node& node : network.nodes) ++counts[node.op];
  std::vector<std::pair<std::string, int64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  Table table({{}, {.right = true}, {}});
  for (const auto& [op, count] : sorted)
    table.row({op, format_grouped(count), bar(static_cast<double>(count) / static_cast<double>(sorted.front().second), kBarWidth)});
  return heading(fmt::format("operators, {}", counted(static_cast<int64_t>(network.nodes.size()), "node")), color) + table.print(color);
}

// For a network with several outputs: the number of outputs that depend on each value.
IdVector<ValueId, size_t> count_outputs(const Network& network) {
  IdVector<ValueId, size_t> counts(network.values.size(), 0);
  for (const ValueId output : network.outputs) {
    IdVector<ValueId, bool> needed(network.values.size(), false);
    needed[output] = true;
    for (int64_t i = static_cast<int64_t>(network.nodes.size()); i-- > 0;) {
      const Node& node = network.nodes[NodeId(i)];
      const auto is_needed = [&](ValueId id) { return id.valid() && needed[id]; };
      if (std::none_of(node.outputs.begin(), node.outputs.end(), is_needed)) continue;
      for (const ValueId input : node.inputs)
        if (input.valid()) needed[input] = true;
    }
    for (const ValueId id : ids_of(network.values)) counts[id] += needed[id];
  }
  return counts;
}

std::string parameters(const Network& network, bool color) {
  const IdVector<ValueId, size_t> makes = count_outputs(network);
  std::array<Group, 5> groups = {Group{"trained"}, Group{"by output"}, Group{"frozen"}, Group{"statistics"},
                                 Group{"undecided"}};
  const Value* largest = nullptr;
  int64_t largest_bytes = 0;
  for (const ValueId id : ids_of(network.values)) {
    const Value& value = network.values[id];
    if (makes[id] == 0) continue;
    if (value.kind == ValueKind::statistic) groups[3].add(value);
    if (value.kind != ValueKind::parameter) continue;
    groups[!value.trainable ? 2 : value.undecided ? 4 : makes[id] < network.outputs.size() ? 1 : 0].add(value);
    if (!largest || value.type.at(1).bytes() > largest_bytes) {
      largest = &value;
      largest_bytes = value.type.at(1).bytes();
    }
  }
  Table table({{}, {"tensors", true}, {"elements", true}, {"bytes", true}});
  for (const Group& group : groups)
    if (group.tensors > 0) table.row({group.name, format_grouped(group.tensors), format_grouped(group.elements), format_bytes(group.bytes)});
  std::string text = heading("parameters", color);
  text += largest || groups[3].tensors > 0 ? table.print(color) : "  none\n";
  if (groups[0].tensors + groups[1].tensors + groups[4].tensors > 0) text += "  --weights lists them\n";
  if (largest)
    text += fmt::format("  the largest is {}, {}, {}\n", shortened(largest->name, 40), to_string(largest->type), format_bytes(largest_bytes));
  return text;
}

}  // namespace

std::string report_network(const Network& network, const std::vector<std::string>& notes, bool color) {
  std::string text = heading(network.name.empty() ? "model without a name" : shortened(network.name, kReportWidth), color);
  text += "\n" + signature_of(network, network.inputs, color, "inputs");
  text += "\n" + signature_of(network, network.outputs, color, "outputs");
  text += "\n" + operators(network, color) + "\n" + parameters(network, color);
  if (!notes.empty()) {
    text += "\n" + heading("notes", color);
    for (const std::string& note : notes) text += fmt::format("  {}\n", note);
  }
  return text;
}

std::string report_weights(const Network& network, const std::map<std::string, std::string>& reasons) {
  const IdVector<ValueId, size_t> makes = count_outputs(network);
  IdVector<ValueId, const Node*> reader(network.values.size(), nullptr);
  for (const Node& node : network.nodes)
    for (const ValueId input : node.inputs)
      if (input.valid() && !reader[input]) reader[input] = &node;
  size_t longest = 0, widest = 0;
  const auto listed = [](const Value& value) { return value.kind == ValueKind::parameter || value.kind == ValueKind::statistic; };
  for (const Value& value : network.values) {
    if (!listed(value)) continue;
    longest = std::max(longest, width_of(value.name));
    widest = std::max(widest, width_of(to_string(value.type)));
  }
  const auto padded = [](const std::string& text, size_t width) { return text + std::string(width - width_of(text), ' '); };
  std::string text;
  std::set<std::string> shown;
  for (const ValueId id : ids_of(network.values)) {
    const Value& value = network.values[id];
    if (!listed(value)) continue;
    const bool of_some = makes[id] > 0 && makes[id] < network.outputs.size();
    const char* const what = makes[id] == 0                          ? "dropped"
                             : value.kind == ValueKind::statistic ? "statistic"
                             : !value.trainable                   ? "frozen"
                             : value.undecided                    ? "undecided"
                             : of_some                            ? "by output"
                                                                  : "trained";
    const std::string layer = !reader[id] ? "" : !reader[id]->module_path.empty() ? reader[id]->module_path : reader[id]->name;
    const auto reason = reasons.find(value.initializer);
    text += fmt::format("{:<9}  {}  {}  {}{}\n", what, padded(value.name, longest), padded(to_string(value.type), widest), layer,
                        reason == reasons.end() ? "" : ": " + reason->second);
    shown.insert(value.initializer);
  }
  for (const auto& [name, reason] : reasons)
    if (!shown.contains(name)) text += fmt::format("{:<9}  {}: {}\n", "constant", name, reason);
  return text;
}

}  // namespace plimsoll
