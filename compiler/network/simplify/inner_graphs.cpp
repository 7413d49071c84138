#include "compiler/network/simplify/inner_graphs.h"

#include <fmt/format.h>

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
    if (const auto found = names.find(name); found != names.end()) name = found->second;
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

}  // namespace

InnerGraphs::InnerGraphs(Model& model) : model_(model) {
  for (const DeclaredValue& input : model.inputs) taken_.insert(input.name);
  for (const ModelTensor& tensor : model.initializers) taken_.insert(tensor.name);
  for (const ModelNode& node : model.nodes) taken_.insert(node.outputs.begin(), node.outputs.end());
}

std::vector<std::string> InnerGraphs::write(const ModelGraph& graph, ValueNames names, const std::string& prefix,
                                            const Metadata& metadata, std::vector<ModelNode>& nodes) {
  for (ModelTensor tensor : graph.initializers) {
    tensor.name = names[tensor.name] = free_name(prefix, tensor.name);
    model_.initializers.push_back(std::move(tensor));
  }
  const auto name_here = [&](const std::string& name) {
    const auto found = names.find(name);
    return found != names.end() ? found->second : name;
  };
  for (ModelNode node : graph.nodes) {
    for (std::string& input : node.inputs) input = name_here(input);
    if (node.branches) node.branches = renamed_branches(*node.branches, names);
    for (std::string& output : node.outputs)
      if (!output.empty()) output = names[output] = free_name(prefix, output);
    if (node.metadata.empty()) node.metadata = metadata;
    nodes.push_back(std::move(node));
  }
  std::vector<std::string> outputs;
  for (const std::string& output : graph.outputs) outputs.push_back(name_here(output));
  return outputs;
}

std::string InnerGraphs::free_name(const std::string& prefix, const std::string& name) {
  std::string made = fmt::format("{}/{}", prefix, name);
  for (int copy = 2; !taken_.insert(made).second; ++copy) made = fmt::format("{}/{}:{}", prefix, name, copy);
  return made;
}

}  // namespace plimsoll
