#include "compiler/network/undecided.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>

#include "compiler/ops/op.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

// The maximum number of names in a line of flags; with more, --assume is more practical.
constexpr size_t kFlagsShown = 12;

constexpr size_t kTensorsShown = 50;  // in the error; `plimsoll inspect --weights` lists all

// A pattern that matches this name only, quoted for the shell.
std::string as_pattern(const std::string& name) {
  std::string text = "'";
  for (const char c : name) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') text += '\\';
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return text + "'";
}

// "blocks.*.scale" of "blocks.0.scale".
std::string numbers_as_stars(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit)
      text += c;
    else if (text.empty() || text.back() != '*')
      text += '*';
  }
  return text;
}

// One pattern for the weights of all layers of a kind, if it matches nothing else.
std::vector<std::string> patterns_of(const Network& network, const std::vector<ValueId>& weights) {
  std::map<std::string, int64_t> alike;
  for (const ValueId id : weights) ++alike[numbers_as_stars(network.values[id].name)];
  const auto means_others = [&](const std::string& pattern) {
    const auto fits = [&](const std::string& name) { return fnmatch(pattern.c_str(), name.c_str(), 0) == 0; };
    return std::any_of(network.values.begin(), network.values.end(),
                       [&](const Value& value) { return value.trainable && !value.undecided && fits(value.name); }) ||
           std::any_of(network.nodes.begin(), network.nodes.end(),
                       [&](const Node& node) { return fits(node.name) || fits(node.module_path); });
  };
  std::vector<std::string> patterns;
  std::map<std::string, bool> together;
  for (const ValueId id : weights) {
    const std::string& name = network.values[id].name;
    const std::string stars = numbers_as_stars(name);
    const auto [known, fresh] = together.try_emplace(stars, false);
    if (fresh)
      known->second = alike[stars] > 1 && name.find_first_of("*?[\\'") == std::string::npos && !means_others(stars);
    if (!known->second)
      patterns.push_back(as_pattern(name));
    else if (fresh)
      patterns.push_back("'" + stars + "'");
  }
  return patterns;
}

std::string flags_of(const std::vector<std::string>& patterns, const char* option) {
  std::string text;
  for (size_t i = 0; i < std::min(patterns.size(), kFlagsShown); ++i)
    text += fmt::format("{}--{} {}", i ? " " : "", option, patterns[i]);
  return text + (patterns.size() > kFlagsShown ? " …" : "");
}

// "'scale' f32[4]", or "'eps' f32[] = 0.001": the number often shows whether it is a parameter.
std::string described(const Value& value) {
  return fmt::format("'{}' {}", value.name, to_string(value.type)) +
         (value.number ? fmt::format(" = {}", static_cast<float>(*value.number)) : "");
}

std::string readers_of(const Network& network, ValueId weight) {
  std::string first;
  int64_t more = -1;
  for (const Node& node : network.nodes)
    if (std::find(node.inputs.begin(), node.inputs.end(), weight) != node.inputs.end() && ++more == 0)
      first = NodeView(network, node).describe();
  return first + (more > 0 ? fmt::format(" and {}", counted(more, "other node")) : "");
}

}  // namespace

std::vector<ValueId> undecided_weights(const Network& network) {
  IdVector<ValueId, bool> read(network.values.size(), false);
  for (const Node& node : network.nodes)
    for (const ValueId input : node.inputs)
      if (input.valid()) read[input] = true;
  std::vector<ValueId> weights;
  for (const ValueId id : ids_of(network.values))
    if (network.values[id].undecided && network.values[id].trainable && read[id]) weights.push_back(id);
  return weights;
}

Status decide_weights(Network& network, Assume assume, std::vector<std::string>& notes) {
  const std::vector<ValueId> weights = undecided_weights(network);
  const auto count = static_cast<int64_t>(weights.size());
  if (weights.empty()) return {};
  if (assume == Assume::nothing) {
    Error error{
        ExitCode::invalid_model,
        fmt::format(
            "the model does not say whether {} {} trained: the file does not distinguish parameters from buffers",
            counted(count, "tensor"), is_or_are(count))};
    for (size_t i = 0; i < std::min(weights.size(), kTensorsShown); ++i)
      error.notes.push_back(
          fmt::format("{}, read by {}", described(network.values[weights[i]]), readers_of(network, weights[i])));
    if (weights.size() > kTensorsShown)
      error.notes.push_back(fmt::format("… and {}; `plimsoll inspect MODEL.onnx --weights` lists all of them",
                                        counted(count - static_cast<int64_t>(kTensorsShown), "other tensor")));
    const std::vector<std::string> patterns = patterns_of(network, weights);
    error.notes.push_back("to train: " + flags_of(patterns, "trainable"));
    error.notes.push_back("to freeze: " + flags_of(patterns, "freeze"));
    error.notes.push_back("for all of them: --assume trainable or --assume frozen");
    error.notes.push_back("plimsoll.export (docs/python.md) records what is trained, so that no flag is needed");
    return error;
  }
  for (const ValueId id : weights) {
    network.values[id].undecided = false;
    network.values[id].trainable = assume == Assume::trainable;
  }
  notes.push_back(fmt::format("{} {} treated as {} (--assume)", counted(count, "tensor"), is_or_are(count),
                              assume == Assume::trainable ? "parameters" : "constants"));
  return {};
}

}  // namespace plimsoll
