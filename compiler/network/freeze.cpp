#include "compiler/network/freeze.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

bool is_trained(const Value& value) { return value.kind == ValueKind::parameter && value.trainable; }

// The names by which a pattern can match a value.
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

Error no_match(const Network& network, const char* option, const std::string& pattern) {
  Error error{ExitCode::usage, fmt::format("--{} '{}' matches no trained weight", option, pattern)};
  constexpr size_t kShown = 5;
  std::string shown;
  size_t count = 0;
  for (const Value& value : network.values)
    if (is_trained(value) && count++ < kShown) shown += (shown.empty() ? "" : ", ") + value.name;
  error.notes.push_back(fmt::format("trainable weights: {}{}", shown,
                                    count > kShown ? ", …; `plimsoll inspect MODEL.onnx --weights` lists them" : ""));
  return error;
}

// The trained weights that the patterns match, and for each pattern whether it matches a decided weight.
struct MatchedWeights {
  IdVector<ValueId, bool> found;
  bool any_decided = false;
};

Result<MatchedWeights> matched(const Network& network, const IdVector<ValueId, std::vector<std::string>>& names,
                               const char* option, const std::vector<std::string>& patterns) {
  MatchedWeights result{.found = IdVector<ValueId, bool>(network.values.size(), false)};
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (const ValueId id : ids_of(network.values)) {
      if (!is_trained(network.values[id]) || !matches(pattern, names[id])) continue;
      result.found[id] = any = true;
      result.any_decided |= !network.values[id].undecided;
    }
    if (!any) return no_match(network, option, pattern);
  }
  return result;
}

}  // namespace

Status freeze_weights(Network& network, const WeightPatterns& patterns, std::vector<std::string>& notes) {
  if (patterns.trainable.empty() && patterns.freeze.empty()) return {};
  const auto names = names_of_values(network);
  PLIMSOLL_ASSIGN(const auto wanted, matched(network, names, "trainable", patterns.trainable));
  PLIMSOLL_ASSIGN(const auto unwanted, matched(network, names, "freeze", patterns.freeze));
  const bool only_these = wanted.any_decided;
  int64_t count = 0, trained = 0;
  for (const ValueId id : ids_of(network.values)) {
    Value& value = network.values[id];
    if (!is_trained(value)) continue;
    const bool frozen = unwanted.found[id] || (only_these && !wanted.found[id]);
    ++(frozen ? count : trained);
    if (frozen) value.trainable = false;
    if (only_these || unwanted.found[id] || wanted.found[id]) value.undecided = false;
  }
  if (trained == 0)
    return Error{ExitCode::usage,
                 fmt::format("{} leaves none of the model's {} to train",
                             patterns.trainable.empty() ? "--freeze" : "--freeze together with --trainable",
                             counted(count, "weight"))};
  if (count > 0 || only_these)
    notes.push_back(fmt::format("{} {} frozen, {} {} trained", counted(count, "weight"), is_or_are(count), trained,
                                is_or_are(trained)));
  return {};
}

}  // namespace plimsoll
