#include "compiler/network/simplify/inner_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace plimsoll {
namespace {

std::shared_ptr<const ModelBranches> renamed_branches(const ModelBranches& branches, const ValueNames& names);

// A graph inside a graph reads the outer one's values by their new names, except for those that it defines itself.
ModelGraph renamed_graph(const ModelGraph& graph, ValueNames names) {
  ModelGraph made = graph;
  for (const std::string& input : made.inputs) names.erase(input);
  for (const ModelTensor& tensor : made.initializers) names.erase(tensor.name);
  const auto rename = [&](std::string& name) {
    if (const auto found = names.find(name); found != names.end() && !name.empty()) name = found->second;
  };
  for (ModelNode& node : made.nodes) {
    for (std::string& input : node.inputs) rename(input);
    if (node.branches) node.branches = renamed_branches(*node.branches, names);
    for (const std::string& output : node.outputs) names.erase(output);
  }
  for (std::string& output : made.outputs) rename(output);
  return made;
}

std::shared_ptr<const ModelBranches> renamed_branches(const ModelBranches& branches, const ValueNames& names) {
  return std::make_shared<ModelBranches>(ModelBranches{.where_true = renamed_graph(branches.where_true, names),
                                                       .where_false = renamed_graph(branches.where_false, names),
                                                       .each = renamed_graph(branches.each, names)});
}

// Whether the node only states a tensor, which may become a weight (lift_weights.h).
bool may_be_weight(const ModelNode& node) {
  if (!is_of_onnx(node) || !node.inputs.empty() || node.outputs.size() != 1) return false;
  const ModelAttribute* const value = find_attribute(node, "value");
  return value && is_real(value->tensor().type) && elements_of(value->tensor()).value_or(0) > 1;
}

}  // namespace

InnerGraphs::InnerGraphs(Model& model) : model_(model) {
  for (const DeclaredValue& input : model.inputs) taken_.insert(input.name);
  for (const ModelTensor& tensor : model.initializers) taken_.insert(tensor.name);
  for (const ModelNode& node : model.nodes) taken_.insert(node.outputs.begin(), node.outputs.end());
}

ValueNames InnerGraphs::add_initializers(const ModelGraph& graph, const std::string& prefix) {
  ValueNames names;
  for (ModelTensor tensor : graph.initializers) {
    std::string name = tensor.name;
    if (!taken_.insert(name).second) {
      if (is_real(tensor.type) && elements_of(tensor) != 1) renamed_weight_ = name;
      name = free_name(prefix, name);
    }
    tensor.name = names[tensor.name] = std::move(name);
    model_.initializers.push_back(std::move(tensor));
  }
  return names;
}

std::vector<std::string> InnerGraphs::write(const ModelGraph& graph, ValueNames names, const std::string& prefix,
                                            const Metadata& metadata, std::vector<ModelNode>& nodes) {
  const auto name_here = [&](const std::string& name) {  // an input without a name is omitted
    const auto found = names.find(name);
    return found != names.end() && !name.empty() ? found->second : name;
  };
  const auto is_output = [&](const std::string& name) {
    return std::find(graph.outputs.begin(), graph.outputs.end(), name) != graph.outputs.end();
  };
  for (ModelNode node : graph.nodes) {
    for (std::string& input : node.inputs) input = name_here(input);
    if (node.branches) node.branches = renamed_branches(*node.branches, names);
    for (std::string& output : node.outputs) {
      if (output.empty()) continue;
      const bool keeps_name = may_be_weight(node) && !is_output(output) && taken_.insert(output).second;
      if (may_be_weight(node) && !keeps_name) node.refusal = refusal_of_renamed(output);
      output = names[output] = keeps_name ? output : free_name(prefix, output);
    }
    if (node.metadata.empty()) node.metadata = metadata;
    nodes.push_back(std::move(node));
  }
  std::vector<std::string> outputs;
  for (const std::string& output : graph.outputs) outputs.push_back(name_here(output));
  return outputs;
}

std::string refusal_of_renamed(const std::string& weight) {
  return fmt::format("'{}' is a weight inside a node, and another value has its name: it could be trained, but not "
                     "saved",
                     weight);
}

std::string InnerGraphs::free_name(const std::string& prefix, const std::string& name) {
  std::string made = fmt::format("{}/{}", prefix, name);
  if (taken_.insert(made).second) return made;
  int& copy = copies_.emplace(made, 1).first->second;
  do made = fmt::format("{}/{}:{}", prefix, name, ++copy);
  while (!taken_.insert(made).second);
  return made;
}

double bytes_of(const Metadata& metadata) {
  double bytes = 0;
  for (const MetadataEntry& entry : metadata)
    bytes += static_cast<double>(sizeof(entry) + entry.key.size() + entry.value.size());
  return bytes;
}

double bytes_of(const ModelNode& node, double per_name, double per_node) {
  const auto bytes_of_names = [](const std::vector<std::string>& names, double more) {
    double bytes = 0;
    for (const std::string& name : names) bytes += static_cast<double>(sizeof(name) + name.size()) + more;
    return bytes;
  };
  double bytes = static_cast<double>(sizeof(node) + node.op.size() + node.domain.size() + node.name.size());
  bytes += bytes_of_names(node.inputs, per_name) + bytes_of_names(node.outputs, per_name);
  bytes += bytes_of(node.metadata) + per_node;
  for (const ModelAttribute& attribute : node.attributes) {
    const size_t numbers = sizeof(int64_t) * attribute.integers().size() + sizeof(float) * attribute.reals().size();
    bytes += static_cast<double>(sizeof(attribute) + attribute.name.size() + attribute.text().size() + numbers);
    bytes += bytes_of_names(attribute.texts(), 0);
  }
  if (node.branches)
    for (const ModelGraph* inside : {&node.branches->where_true, &node.branches->where_false, &node.branches->each})
      bytes += bytes_of(*inside, per_name, per_node);
  return bytes;
}

double bytes_of(const ModelGraph& graph, double per_name, double per_node) {
  double bytes = static_cast<double>(sizeof(std::string)) + per_name;
  bytes *= static_cast<double>(graph.inputs.size() + graph.initializers.size() + graph.outputs.size());
  for (const ModelNode& node : graph.nodes) bytes += bytes_of(node, per_name, per_node);
  return bytes;
}

}  // namespace plimsoll
