#include "compiler/network/simplify/weight_reasons.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_set>

#include "compiler/network/simplify/exporter_numbers.h"

namespace plimsoll {
namespace {

// The element of an f32 initializer that has one. nullopt also if the element is in an external file.
std::optional<double> only_element(const Model& model, const std::string& name) {
  const auto tensor = std::find_if(model.initializers.begin(), model.initializers.end(),
                                   [&](const ModelTensor& one) { return one.name == name; });
  float element = 0;
  if (tensor == model.initializers.end() || tensor->type != ElementType::f32 || !tensor->data ||
      tensor->data->size() != sizeof element)
    return std::nullopt;
  std::memcpy(&element, tensor->data->data(), sizeof element);
  return element;
}

}  // namespace

std::map<std::string, std::string> reasons_of(const Model& model, const GraphOrder& order, const WeightUses& weights) {
  std::unordered_set<std::string_view> read;
  for (const int index : order.nodes)
    for (const std::string& input : model.nodes[index].inputs) read.insert(input);
  const auto marks = exporter_marks(model);
  const auto numbers = exporter_numbers(model);
  const auto why_not = [&](const std::string& name) -> std::string {
    if (model.author && model.author->frozen.contains(name))
      return "frozen: plimsoll.export lists it with requires_grad=False";
    if (model.author && model.author->buffers.contains(name)) return "plimsoll.export lists it as a buffer";
    if (model.author && model.author->trained.contains(name)) return "no gradient reaches it";
    if (model.author)
      return "no gradient reaches it, or plimsoll.export lists it neither as a parameter nor as a buffer";
    const auto mark = marks.find(name);
    if (mark != marks.end() && mark->second == "BUFFER") return "the exporter marks it as a buffer";
    if (mark != marks.end() && mark->second != "PARAMETER") return "the exporter marks it as a constant";
    if (const auto number = numbers.find(name); number != numbers.end()) return number->second;
    return "no gradient reaches it";
  };
  std::map<std::string, std::string> reasons;
  for (const ModelTensor& tensor : model.initializers) {
    if (tensor.type != ElementType::f32) continue;
    if (!read.contains(tensor.name)) {
      reasons[tensor.name] = "no output depends on it";
      continue;
    }
    const auto role = weights.roles.find(tensor.name);
    reasons[tensor.name] = !weights.reached.contains(tensor.name) ? why_not(tensor.name)
                           : role != weights.roles.end()          ? role->second.reason
                                                                  : "";
  }
  return reasons;
}

void complete_reasons(const Model& model, Network& network, std::map<std::string, std::string>& reasons) {
  std::unordered_set<std::string> held;
  for (Value& value : network.values) {
    if (value.kind != ValueKind::parameter && value.kind != ValueKind::statistic) continue;
    held.insert(value.initializer);
    const auto reason = reasons.find(value.initializer);
    if (reason == reasons.end()) continue;
    if (value.kind == ValueKind::parameter && !value.trainable) value.number = only_element(model, value.initializer);
    if (value.kind == ValueKind::statistic) reason->second = "a running statistic";
    else if (reason->second.empty()) {
      value.undecided = value.trainable;
      if (value.undecided) value.number = only_element(model, value.initializer);
      reason->second = value.trainable
                           ? "a gradient reaches it; the file does not say whether it is a parameter or a buffer"
                           : "its name or values suggest a constant or a mask";
    }
  }
  for (auto& [name, reason] : reasons)
    if (reason.empty()) reason = "its value is known at compile time";
}

}  // namespace plimsoll
