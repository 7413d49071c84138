#include "compiler/network/simplify/listed_sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/ir/known_value.h"
#include "compiler/network/simplify/graph_order.h"

namespace plimsoll {
namespace {

class SequenceLister {
 public:
  SequenceLister(Model& model, InnerGraphs& graphs, double& left) : model_(model), graphs_(graphs), left_(left) {}

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
  struct Sequence {
    Items items = {};
    double bytes = 0;    // of its items' names
    size_t longest = 0;  // of these names
  };

  void add(ModelNode node) {
    if (node.op == "Constant" && is_of_onnx(node) && !node.outputs.empty())
      constants_.emplace(node.outputs[0], model_.nodes.size());
    model_.nodes.push_back(std::move(node));
  }

  // Null: not a sequence, or one that is not listed.
  std::shared_ptr<const Sequence> sequence_of(const ModelNode& node, size_t input = 0) const {
    if (input >= node.inputs.size()) return nullptr;
    const auto found = sequences_.find(node.inputs[input]);
    return found == sequences_.end() ? nullptr : found->second;
  }

  void list(const std::string& sequence, Items items) {
    if (sequence.empty() || std::ranges::any_of(items, &std::string::empty)) return;
    Sequence made{.items = std::move(items)};
    for (const std::string& item : made.items) {
      made.bytes += static_cast<double>(sizeof(item) + item.size());
      made.longest = std::max(made.longest, item.size());
    }
    sequences_[sequence] = std::make_shared<const Sequence>(std::move(made));
  }

  bool may_add(double bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

  // False: the node stays as it is.
  bool replace(const ModelNode& node) {
    if (node.outputs.empty() || node.outputs[0].empty()) return false;
    if (node.op == "SequenceConstruct") list(node.outputs[0], node.inputs);
    const std::shared_ptr<const Sequence> sequence = sequence_of(node);
    if (!sequence) return false;
    if (node.op == "Identity") sequences_[node.outputs[0]] = sequence;
    else if (node.op == "SequenceAt") return take(node, sequence->items);
    else if (node.op == "ConcatFromSequence") return concatenate(node, *sequence);
    else if (node.op == "SequenceMap") return map(node, sequence->items.size());
    return false;  // what makes a sequence stays: a node inside another may read it
  }

  // A number that a Constant or an initializer gives.
  std::optional<int64_t> number(const std::string& name) const {
    const auto number_in = [](const ModelTensor& tensor) -> std::optional<int64_t> {
      if (elements_of(tensor) != 1) return std::nullopt;
      const std::optional<KnownValue> known = known_value_of(tensor);
      return known && !known->real() ? std::optional(known->integer(0).value) : std::nullopt;
    };
    if (const auto initializer = initializers_.find(name); initializer != initializers_.end())
      return number_in(model_.initializers[initializer->second]);
    const auto constant = constants_.find(name);
    if (constant == constants_.end()) return std::nullopt;
    const ModelNode& node = model_.nodes[constant->second];
    if (const ModelAttribute* one = find_attribute(node, "value_int")) return one->integer();
    const ModelAttribute* const value = find_attribute(node, "value");
    return value ? number_in(value->tensor()) : std::nullopt;
  }

  bool take(const ModelNode& node, const Items& items) {
    const auto count = static_cast<int64_t>(items.size());
    std::optional<int64_t> at = node.inputs.size() == 2 ? number(node.inputs[1]) : std::nullopt;
    if (at && *at < 0) *at += count;
    if (!at || *at < 0 || *at >= count) return false;
    const std::string& item = items[static_cast<size_t>(*at)];
    if (!may_add(static_cast<double>(item.size()))) return false;
    return replace_by({.op = "Identity", .inputs = {item}}, node);
  }

  bool concatenate(const ModelNode& node, const Sequence& sequence) {
    const ModelAttribute* const axis = find_attribute(node, "axis");
    const ModelAttribute* const new_axis = find_attribute(node, "new_axis");
    const auto is_integer = [](const ModelAttribute& attribute) {
      return std::holds_alternative<int64_t>(attribute.value);
    };
    if (!axis || !is_integer(*axis) || (new_axis && !is_integer(*new_axis))) return false;
    const bool stacks = new_axis && new_axis->integer() != 0;
    // An Unsqueeze and its Constant have the name of this node, or of its output, four times.
    const double unsqueezes = stacks ? 4 * bytes_of(node) * static_cast<double>(sequence.items.size()) : 0;
    if (sequence.items.empty() || !may_add(sequence.bytes + unsqueezes)) return false;
    Items parts = sequence.items;
    if (stacks)
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

  // A copy of the body for each tensor, with the same initializers. Other inputs are sequences of the same length, or
  // tensors.
  bool map(const ModelNode& node, size_t items) {
    if (!node.branches || node.branches->each.inputs.size() != node.inputs.size()) return false;
    const ModelGraph& each = node.branches->each;
    std::vector<Items> made(node.outputs.size());
    size_t longest = name_of(node).size() + 32;  // 32: the numbers in a new name
    for (size_t input = 0; input < node.inputs.size(); ++input) {
      const std::shared_ptr<const Sequence> listed = sequence_of(node, input);
      if (listed && listed->items.size() != items) return false;
      longest = std::max(longest, listed ? listed->longest : node.inputs[input].size());
    }
    const double of_copy = bytes_of(each, static_cast<double>(longest), bytes_of(node.metadata)) + bytes_of(node);
    if (!may_add(static_cast<double>(items) * of_copy)) return false;
    const ValueNames initializers = graphs_.add_initializers(each, name_of(node));
    for (size_t i = 0; i < items; ++i) {
      ValueNames names = initializers;
      for (size_t input = 0; input < node.inputs.size(); ++input) {
        const std::shared_ptr<const Sequence> listed = sequence_of(node, input);
        names[each.inputs[input]] = listed ? listed->items[i] : node.inputs[input];
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
      list(node.outputs[output], std::move(made[output]));
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
  InnerGraphs& graphs_;
  double& left_;
  std::unordered_map<std::string, std::shared_ptr<const Sequence>> sequences_ = {};
  std::unordered_map<std::string, size_t> initializers_ = {}, constants_ = {};  // places in the model, by name
  bool changed_ = false;
};

}  // namespace

bool list_sequences(Model& model, InnerGraphs& graphs, double& left) {
  return SequenceLister(model, graphs, left).run();
}

}  // namespace plimsoll
