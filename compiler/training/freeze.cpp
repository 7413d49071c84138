#include "compiler/training/freeze.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

bool is_trained(const Value& value) { return value.kind == ValueKind::parameter && value.trainable; }

// By which names a value may be meant.
IdVector<ValueId, std::vector<std::string>> names_of_values(const Network& network) {
  IdVector<ValueId, std::vector<std::string>> names(network.values.size());
  for (const ValueId id : ids_of(network.values)) names[id] = {network.values[id].name, network.values[id].initializer};
  for (const Node& node : network.nodes)
    for (const ValueId input : node.inputs)
      if (input.valid() && is_trained(network.values[input]))
        names[input].insert(names[input].end(), {node.name, node.module_path});
  return names;
}

bool matches(const std::string& pattern, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return !name.empty() && fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

Error no_match(const Network& network, const std::string& pattern) {
  Error error{ExitCode::usage, fmt::format("--freeze '{}' matches no trained weight", pattern)};
  constexpr size_t kShown = 5;
  std::string shown;
  size_t count = 0;
  for (const Value& value : network.values)
    if (is_trained(value) && count++ < kShown) shown += (shown.empty() ? "" : ", ") + value.name;
  error.notes.push_back(fmt::format("trained weights are {}{}", shown, count > kShown ? ", …" : ""));
  return error;
}

}  // namespace

Status freeze_weights(Network& network, const std::vector<std::string>& patterns, std::vector<std::string>& notes) {
  if (patterns.empty()) return {};
  const auto names = names_of_values(network);
  IdVector<ValueId, bool> frozen(network.values.size(), false);
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (const ValueId id : ids_of(network.values)) {
      if (!is_trained(network.values[id]) || !matches(pattern, names[id])) continue;
      frozen[id] = any = true;
    }
    if (!any) return no_match(network, pattern);
  }
  int64_t count = 0, trained = 0;
  for (const ValueId id : ids_of(network.values)) {
    if (!is_trained(network.values[id])) continue;
    ++(frozen[id] ? count : trained);
    if (frozen[id]) network.values[id].trainable = false;
  }
  if (trained == 0) return Error{ExitCode::usage, fmt::format("--freeze leaves none of the model's {} to train", counted(count, "weight"))};
  notes.push_back(fmt::format("{} {} frozen, {} {} trained", counted(count, "weight"), is_or_are(count), trained, is_or_are(trained)));
  return {};
}

}  // namespace plimsoll
