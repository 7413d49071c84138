#include "compiler/network/frozen_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "compiler/network/edit.h"
#include "compiler/network/evaluated_dropout.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

bool is_in_training(const Node& node) {
  const auto mode = node.attributes.find("training_mode");
  const int64_t* training = mode == node.attributes.end() ? nullptr : std::get_if<int64_t>(&mode->second);
  return training && *training != 0;
}

}  // namespace

Status freeze_statistics(Network& network, const std::vector<std::string>& patterns, std::vector<std::string>& notes) {
  std::vector<Node*> normalizations;
  for (Node& node : network.nodes)
    if (node.op == "BatchNormalization") normalizations.push_back(&node);
  bool tells = network.modes_are_stated || std::any_of(normalizations.begin(), normalizations.end(),
                                                       [](const Node* node) { return is_in_training(*node); });
  constexpr int kFirstWithModes = 14;  // first opset in which BatchNormalization has a training_mode
  if (network.states_modes && !normalizations.empty() && normalizations[0]->opset >= kFirstWithModes)
    tells |= std::any_of(network.nodes.begin(), network.nodes.end(),
                         [&](const Node& node) { return is_in_training_mode(network, node); });
  int64_t by_file = 0, by_pattern = 0;
  const auto freeze = [](Node& node, int64_t& count) {
    if (!std::exchange(node.marks.frozen_statistics, true)) ++count;
  };
  if (tells)
    for (Node* node : normalizations)
      if (!is_in_training(*node)) freeze(*node, by_file);
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (Node* node : normalizations) {
      if (!node_matches(*node, pattern)) continue;
      any = true;
      freeze(*node, by_pattern);
    }
    if (any) continue;
    Error error{ExitCode::usage, fmt::format("--frozen-statistics '{}' matches no batch normalization", pattern)};
    constexpr size_t kShown = 5;
    std::string shown;
    for (size_t i = 0; i < std::min(kShown, normalizations.size()); ++i)
      shown += (i ? ", " : "") +
               (normalizations[i]->module_path.empty() ? normalizations[i]->name : normalizations[i]->module_path);
    error.notes.push_back(normalizations.empty() ? "the model has none"
                                                 : fmt::format("batch normalizations: {}{}", shown,
                                                               normalizations.size() > kShown ? ", …" : ""));
    return error;
  }
  if (by_file > 0)
    notes.push_back(fmt::format("{} {} in evaluation mode{}: {} running statistics are used and kept",
                                counted(by_file, "batch normalization"), is_or_are(by_file),
                                by_file == std::ssize(normalizations) ? "" : " (others are in training mode)",
                                by_file == 1 ? "its" : "their"));
  if (by_pattern > 0)
    notes.push_back(fmt::format("{} {} running statistics (--frozen-statistics)",
                                counted(by_pattern, "batch normalization"),
                                by_pattern == 1 ? "keeps its" : "keep their"));
  return {};
}

}  // namespace plimsoll
