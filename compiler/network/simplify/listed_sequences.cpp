#include "compiler/network/simplify/listed_sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/ir/known_value.h"
#include "compiler/network/simplify/graph_order.h"
#include "compiler/network/simplify/inner_graphs.h"

namespace plimsoll {
namespace {

class SequenceLister {
 public:
  explicit SequenceLister(Model& model) : model_(model), graphs_(model) {}

  bool run() {
    const auto is_listed = [](const ModelNode& node) { return node.op == "SequenceConstruct" && is_of_onnx(node); };
    if (std::ranges::none_of(model_.nodes, is_listed)) return false;
    for (size_t i = 0; i < model_.initializers.size(); ++i) initializers_.emplace(model_.initializers[i].name, i);
    std::vector<ModelNode> nodes = std::exchange(model_.nodes, {});
    for (ModelNode& node : nodes)
      if (!is_of_onnx(node) || !replace(node)) add(std::move(node));
    return changed_;
  }

 private:
  using Items = std::vector<std::string>;

  void add(ModelNode node) {
    if (node.op == "Constant" && is_of_onnx(node) && !node.outputs.empty())
      constants_.emplace(node.outputs[0], model_.nodes.size());
    model_.nodes.push_back(std::move(node));
  }

  // Null: not a sequence, or one that is not listed.
  const Items* items_of(const ModelNode& node, size_t input = 0) const {
    if (input >= node.inputs.size()) return nullptr;
    const auto found = sequences_.find(node.inputs[input]);
    return found == sequences_.end() ? nullptr : &found->second;
  }

  // False: the node stays as it is.
  bool replace(const ModelNode& node) {
    if (node.outputs.empty()) return false;
    if (node.op == "SequenceConstruct") sequences_[node.outputs[0]] = node.inputs;
    const Items* const items = items_of(node);
    if (!items) return false;
    if (node.op == "Identity") sequences_[node.outputs[0]] = Items(*items);
    else if (node.op == "SequenceAt") return take(node, *items);
    else if (node.op == "ConcatFromSequence") return concatenate(node, *items);
    else if (node.op == "SequenceMap") return map(node, Items(*items));
    return false;  // what makes a sequence stays: a node inside another may read it
  }

  // A number that a Constant or an initializer gives.
  std::optional<int64_t> number(const std::string& name) const {
    std::optional<KnownValue> known;
    if (const auto initializer = initializers_.find(name); initializer != initializers_.end()) {
      known = known_value_of(model_.initializers[initializer->second]);
    } else if (const auto constant = constants_.find(name); constant != constants_.end()) {
      const ModelNode& node = model_.nodes[constant->second];
      if (const ModelAttribute* one = find_attribute(node, "value_int")) return one->integer();
      if (const ModelAttribute* value = find_attribute(node, "value")) known = known_value_of(value->tensor());
    }
    if (!known || known->real() || known->elements() != 1) return std::nullopt;
    return known->integer(0).value;
  }

  bool take(const ModelNode& node, const Items& items) {
    const auto count = static_cast<int64_t>(items.size());
    std::optional<int64_t> at = node.inputs.size() == 2 ? number(node.inputs[1]) : std::nullopt;
    if (at && *at < 0) *at += count;
    if (!at || *at < 0 || *at >= count) return false;
    return replace_by({.op = "Identity", .inputs = {items[static_cast<size_t>(*at)]}}, node);
  }

  bool concatenate(const ModelNode& node, const Items& items) {
    const ModelAttribute* const axis = find_attribute(node, "axis");
    const ModelAttribute* const new_axis = find_attribute(node, "new_axis");
    if (!axis || items.empty()) return false;
    Items parts = items;
    if (new_axis && new_axis->integer() != 0)
      for (std::string& part : parts) part = unsqueeze(node, part, axis->integer());
    return replace_by({.op = "Concat",
                       .inputs = std::move(parts),
                       .attributes = {{.name = "axis", .value = axis->integer()}}},
                      node);
  }

  std::string unsqueeze(const ModelNode& node, const std::string& x, int64_t axis) {
    ModelNode made{.op = "Unsqueeze",
                   .name = name_of(node) + "/Unsqueeze",
                   .inputs = {x},
                   .outputs = {graphs_.free_name(node.outputs[0], "Unsqueeze")},
                   .metadata = node.metadata};
    ModelAttribute axes{.name = "axes", .value = std::vector{axis}};
    if (model_.opset < 13) {
      made.attributes.push_back(std::move(axes));
    } else {
      axes.name = "value_ints";
      made.inputs.push_back(graphs_.free_name(node.outputs[0], "axes"));
      add({.op = "Constant", .name = made.inputs[1], .outputs = {made.inputs[1]}, .attributes = {std::move(axes)}});
    }
    add(made);
    return made.outputs[0];
  }

  // A copy of the body for each tensor. Other inputs are sequences of the same length, or tensors.
  bool map(const ModelNode& node, const Items& items) {
    if (!node.branches || node.branches->each.inputs.size() != node.inputs.size()) return false;
    const ModelGraph& each = node.branches->each;
    std::vector<Items> made(node.outputs.size());
    for (size_t input = 1; input < node.inputs.size(); ++input)
      if (const Items* others = items_of(node, input); others && others->size() != items.size()) return false;
    for (size_t i = 0; i < items.size(); ++i) {
      ValueNames names;
      for (size_t input = 0; input < node.inputs.size(); ++input) {
        const Items* const listed = items_of(node, input);
        names[each.inputs[input]] = listed ? (*listed)[i] : node.inputs[input];
      }
      const Items outputs =
          graphs_.write(each, std::move(names), fmt::format("{}:{}", name_of(node), i), node.metadata, model_.nodes);
      for (size_t output = 0; output < std::min(made.size(), outputs.size()); ++output)
        made[output].push_back(outputs[output]);
    }
    for (size_t output = 0; output < made.size(); ++output) {
      add({.op = "SequenceConstruct",
           .name = name_of(node),
           .inputs = made[output],
           .outputs = {node.outputs[output]},
           .metadata = node.metadata});
      sequences_[node.outputs[output]] = std::move(made[output]);
    }
    return changed_ = true;
  }

  bool replace_by(ModelNode made, const ModelNode& node) {
    made.name = node.name;
    made.outputs = {node.outputs[0]};
    made.metadata = node.metadata;
    add(std::move(made));
    return changed_ = true;
  }

  static const std::string& name_of(const ModelNode& node) { return node.name.empty() ? node.outputs[0] : node.name; }

  Model& model_;
  InnerGraphs graphs_;
  std::unordered_map<std::string, Items> sequences_ = {};
  std::unordered_map<std::string, size_t> initializers_ = {}, constants_ = {};  // places in the model, by name
  bool changed_ = false;
};

}  // namespace

bool list_sequences(Model& model) { return SequenceLister(model).run(); }

}  // namespace plimsoll
