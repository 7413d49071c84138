#include "compiler/network/simplify/sample_order.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "compiler/network/simplify/fold.h"
#include "compiler/network/simplify/sample_indices.h"

namespace plimsoll {
namespace {

using NameSet = std::unordered_set<std::string>;

// The nodes that read a value. nullopt: so does an output of the model, or a node that is not the file's.
std::optional<std::vector<const ModelNode*>> readers_of(const Model& model, const GraphUses& uses,
                                                        const std::string& name) {
  std::vector<const ModelNode*> nodes;
  if (const auto readers = uses.readers.find(name); readers != uses.readers.end())
    for (const int reader : readers->second) {
      if (reader < 0) return std::nullopt;
      nodes.push_back(&model.nodes[static_cast<size_t>(reader)]);
    }
  return nodes;
}

// What a TopK puts in order, and what undoes it.
struct Orders {
  std::vector<std::string> ordered = {};  // the numbers, and what a Gather takes by the order
  NameSet inverses = {};
};

// nullopt: something reads the order, or its inverse, in another way.
std::optional<Orders> orders_of(const Model& model, const GraphUses& uses, const ModelNode& top) {
  Orders found{.ordered = {top.outputs[0]}};
  const auto selects = [](const ModelNode& node, const std::string& by) {
    return node.inputs.size() > 1 && node.inputs[1] == by && std::ranges::count(node.inputs, by) == 1;
  };
  std::vector<std::string> orders = {top.outputs[1]};
  for (size_t i = 0; i < orders.size(); ++i) {
    const auto readers = readers_of(model, uses, orders[i]);
    if (!readers) return std::nullopt;
    for (const ModelNode* node : *readers) {
      if (node->op == "Cast") orders.push_back(node->outputs[0]);
      else if (node->op == "Gather" && selects(*node, orders[i])) found.ordered.push_back(node->outputs[0]);
      else if (node->op == "ScatterElements" && selects(*node, orders[i])) found.inverses.insert(node->outputs[0]);
      else if (node->op != "Shape") return std::nullopt;
    }
  }
  for (const std::string& inverse : found.inverses) {
    const auto readers = readers_of(model, uses, inverse);
    const auto takes = [&](const ModelNode* node) { return node->op == "Gather" && selects(*node, inverse); };
    if (!readers || !std::ranges::all_of(*readers, takes)) return std::nullopt;
  }
  return found;
}

// The values that depend on the elements of these. Of the outputs of nodes that `ends` accepts: no.
template <class Ends>
NameSet following(const Model& model, const GraphUses& uses, std::vector<std::string> names, Ends ends) {
  NameSet found(names.begin(), names.end());
  for (size_t i = 0; i < names.size(); ++i) {
    const auto readers = uses.readers.find(names[i]);
    if (readers == uses.readers.end()) continue;
    for (const int reader : std::vector<int>(readers->second)) {
      const ModelNode* node = reader < 0 ? nullptr : &model.nodes[static_cast<size_t>(reader)];
      if (!node || node->op == "Shape" || ends(*node)) continue;
      for (const std::string& output : node->outputs)
        if (!output.empty() && found.insert(output).second) names.push_back(output);
    }
  }
  return found;
}

// Whether all that is computed of samples in order is put back, and meets no samples that are not in order.
bool is_undone(const Model& model, const GraphUses& uses, const ModelNode& top) {
  const std::optional<Orders> orders = orders_of(model, uses, top);
  if (!orders || orders->inverses.empty()) return false;
  const auto puts_back = [&](const ModelNode& node) {
    return node.op == "Gather" && node.inputs.size() > 1 && orders->inverses.contains(node.inputs[1]);
  };
  const NameSet ordered = following(model, uses, orders->ordered, puts_back);
  std::vector<std::string> fed;
  for (const DeclaredValue& input : model.inputs)
    if (std::ranges::count(model.initializers, input.name, &ModelTensor::name) == 0) fed.push_back(input.name);
  const NameSet of_samples = following(model, uses, fed, [](const ModelNode&) { return false; });
  const auto is_ordered = [&](const std::string& name) { return ordered.contains(name); };
  const auto keeps = [&](const ModelNode& node) {
    return node.op == "Shape" || puts_back(node) || std::ranges::none_of(node.inputs, is_ordered) ||
           std::ranges::all_of(node.inputs, [&](const std::string& name) {
             return is_ordered(name) || !of_samples.contains(name);
           });
  };
  return std::ranges::none_of(model.outputs, is_ordered, &DeclaredValue::name) &&
         std::ranges::all_of(model.nodes, keeps);
}

// The numbers 0 … N-1 in one dimension.
bool counts_samples(ValueTable& table, const std::string& name, std::optional<int64_t> exported_batch) {
  const KnownValue* known = name.empty() ? nullptr : table.known(table.find(name));
  return known && known->dims.size() == 1 && step_of_samples(*known, exported_batch) == 1;
}

int64_t axis_of(const ModelNode& node, int64_t missing, size_t rank) {
  const ModelAttribute* axis = find_attribute(node, "axis");
  const int64_t given = axis ? axis->integer() : missing;
  return given < 0 ? given + static_cast<int64_t>(rank) : given;
}

}  // namespace

std::optional<InOrder> in_order(const Model& model, const GraphUses& uses, ValueTable& table, const ModelNode& node,
                                std::optional<int64_t> exported_batch) {
  const bool selects = node.op == "TopK", inverts = node.op == "ScatterElements";
  if (!is_of_onnx(node) || (!selects && !inverts && node.op != "Gather") || node.inputs.size() < 2 ||
      std::ranges::count(node.inputs, "") > 0)
    return std::nullopt;
  const Dims* x = table.dims(table.find(node.inputs[0]));
  if (!x) return std::nullopt;
  if (selects) {
    const KnownValue* count = table.known(table.find(node.inputs[1]));
    const bool all = count && !count->real() && count->elements() == 1 &&
                     (count->integer(0) == kBatch || (exported_batch && count->integer(0) == Dim{*exported_batch}));
    if (*x != Dims{kBatch} || !all || node.outputs.size() != 2 || !is_undone(model, uses, node))
      return std::nullopt;
    return InOrder{.input = 0,
                   .order = KnownValue{.element = ElementType::i64, .dims = {kBatch}, .ints = {{0}}, .steps = {1}}};
  }
  if (!counts_samples(table, node.inputs[1], exported_batch)) return std::nullopt;
  const auto axis = static_cast<size_t>(axis_of(node, 0, x->size()));
  if (inverts) {
    const bool same = *x == Dims{kBatch} && node.inputs.size() == 3 && !find_attribute(node, "reduction");
    return same ? std::optional(InOrder{.input = 2}) : std::nullopt;
  }
  return axis < x->size() && (*x)[axis] == kBatch ? std::optional(InOrder{.input = 0}) : std::nullopt;
}

}  // namespace plimsoll
