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

std::string signature_of(const Network& network, const std::vector<ValueId>& values, bool color, const char* what) {
  Table table({{"", false, 40}, {"", false, 50}});
  for (ValueId value : values) table.row({network.values[value].name, to_string(network.values[value].type)});
  return heading(what, color) + table.print(color);
}

std::string operators(const Network& network, bool color) {
  const std::vector<OperatorCount> sorted = operator_counts(network);
  Table table({{}, {.right = true}, {}});
  for (const auto& [op, count] : sorted)
    table.row({op, format_grouped(count),
               bar(static_cast<double>(count) / static_cast<double>(sorted.front().nodes), kBarWidth)});
  return heading(fmt::format("operators, {}", counted(static_cast<int64_t>(network.nodes.size()), "node")), color) +
         table.print(color);
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

const char* kind_of(const Network& network, const Value& value, size_t makes) {
  if (makes == 0) return "dropped";
  if (value.kind == ValueKind::statistic) return "statistic";
  if (!value.trainable) return "frozen";
  if (value.undecided) return "undecided";
  return makes < network.outputs.size() ? "by output" : "trained";
}

bool is_weight(const Value& value) { return value.kind == ValueKind::parameter || value.kind == ValueKind::statistic; }

std::string parameters(const Network& network, bool color) {
  const std::vector<WeightGroup> groups = weight_groups(network);
  const IdVector<ValueId, size_t> makes = count_outputs(network);
  const Value* largest = nullptr;
  for (const ValueId id : ids_of(network.values)) {
    const Value& value = network.values[id];
    if (makes[id] > 0 && value.kind == ValueKind::parameter &&
        (!largest || value.type.bytes(1) > largest->type.bytes(1)))
      largest = &value;
  }
  Table table({{}, {"tensors", true}, {"elements", true}, {"bytes", true}});
  bool may_be_trained = false;
  for (const WeightGroup& group : groups) {
    table.row({group.name, format_grouped(group.tensors), format_grouped(group.elements), format_bytes(group.bytes)});
    may_be_trained = may_be_trained || (group.name != "frozen" && group.name != "statistics");
  }
  std::string text = heading("parameters", color);
  text += groups.empty() ? "  none\n" : table.print(color);
  if (may_be_trained) text += "  --weights lists them\n";
  if (largest)
    text += fmt::format("  largest: {}, {}, {}\n", shortened(largest->name, 40), to_string(largest->type),
                        format_bytes(largest->type.bytes(1)));
  return text;
}

}  // namespace

std::string report_network(const Network& network, const std::vector<std::string>& notes, bool color) {
  std::string text = heading(network.name.empty() ? "unnamed model" : shortened(network.name, kReportWidth), color);
  text += "\n" + signature_of(network, network.inputs, color, "inputs");
  text += "\n" + signature_of(network, network.outputs, color, "outputs");
  text += "\n" + operators(network, color) + "\n" + parameters(network, color);
  if (!notes.empty()) {
    text += "\n" + heading("notes", color);
    for (const std::string& note : notes) text += fmt::format("  {}\n", note);
  }
  return text;
}

void WeightGroup::add(const Value& value) {
  ++tensors;
  elements += value.type.at(1).elements();
  bytes += value.type.bytes(1);
}

std::vector<WeightGroup> weight_groups(const Network& network) {
  const IdVector<ValueId, size_t> makes = count_outputs(network);
  std::vector<WeightGroup> groups = {{"trained"}, {"by output"}, {"frozen"}, {"statistics"}, {"undecided"}};
  for (const ValueId id : ids_of(network.values)) {
    const Value& value = network.values[id];
    if (makes[id] == 0 || !is_weight(value)) continue;
    const std::string_view kind = kind_of(network, value, makes[id]);
    for (WeightGroup& group : groups)
      if (group.name == (kind == "statistic" ? "statistics" : kind)) group.add(value);
  }
  std::erase_if(groups, [](const WeightGroup& group) { return group.tensors == 0; });
  return groups;
}

std::vector<OperatorCount> operator_counts(const Network& network) {
  std::map<std::string, int64_t> counts;
  for (const Node& node : network.nodes) ++counts[node.op];
  std::vector<OperatorCount> sorted;
  for (const auto& [op, count] : counts) sorted.push_back({op, count});
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const OperatorCount& a, const OperatorCount& b) { return a.nodes > b.nodes; });
  return sorted;
}

std::vector<WeightLine> weight_lines(const Network& network, const std::map<std::string, std::string>& reasons) {
  const IdVector<ValueId, size_t> makes = count_outputs(network);
  IdVector<ValueId, const Node*> reader(network.values.size(), nullptr);
  for (const Node& node : network.nodes)
    for (const ValueId input : node.inputs)
      if (input.valid() && !reader[input]) reader[input] = &node;
  std::vector<WeightLine> lines;
  std::set<std::string> shown;
  for (const ValueId id : ids_of(network.values)) {
    const Value& value = network.values[id];
    if (!is_weight(value)) continue;
    const auto reason = reasons.find(value.initializer);
    lines.push_back({.what = kind_of(network, value, makes[id]),
                     .name = value.name,
                     .type = to_string(value.type),
                     .layer = !reader[id]                        ? ""
                              : !reader[id]->module_path.empty() ? reader[id]->module_path
                                                                 : reader[id]->name,
                     .reason = reason == reasons.end() ? "" : reason->second});
    shown.insert(value.initializer);
  }
  for (const auto& [name, reason] : reasons)
    if (!shown.contains(name))
      lines.push_back({.what = "constant", .name = name, .type = "", .layer = "", .reason = reason});
  return lines;
}

std::string report_weights(const Network& network, const std::map<std::string, std::string>& reasons) {
  const std::vector<WeightLine> lines = weight_lines(network, reasons);
  size_t longest = 0, widest = 0;
  for (const WeightLine& line : lines) {
    if (line.type.empty()) continue;
    longest = std::max(longest, width_of(line.name));
    widest = std::max(widest, width_of(line.type));
  }
  const auto padded = [](const std::string& text, size_t width) {
    return text + std::string(width - width_of(text), ' ');
  };
  std::string text;
  for (const WeightLine& line : lines) {
    if (line.type.empty()) text += fmt::format("{:<9}  {}: {}\n", line.what, line.name, line.reason);
    else
      text += fmt::format("{:<9}  {}  {}  {}{}\n", line.what, padded(line.name, longest), padded(line.type, widest),
                          line.layer, line.reason.empty() ? "" : ": " + line.reason);
  }
  return text;
}

}  // namespace plimsoll
