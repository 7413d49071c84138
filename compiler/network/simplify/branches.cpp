#include "compiler/network/simplify/branches.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compiler/network/simplify/attributes.h"
#include "compiler/network/simplify/builder.h"
#include "compiler/network/simplify/graph_order.h"
#include "compiler/network/simplify/widen.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

using Names = std::unordered_map<std::string, std::string>;  // in the branch → in the model

bool is_branching(const ModelNode& node) { return node.branches != nullptr; }

std::shared_ptr<const ModelBranches> renamed(const ModelBranches& branches, const Names& names);

// A branch inside a branch reads the outer one's values by their new names, except for those that it defines itself.
ModelGraph renamed(const ModelGraph& graph, Names names) {
  ModelGraph made = graph;
  for (const ModelTensor& tensor : made.initializers) names.erase(tensor.name);
  const auto rename = [&](std::string& name) {
    if (const auto found = names.find(name); found != names.end()) name = found->second;
  };
  for (ModelNode& node : made.nodes) {
    for (std::string& input : node.inputs) rename(input);
    if (node.branches)
      node.branches = renamed(*node.branches, names);
    for (const std::string& output : node.outputs) names.erase(output);
  }
  for (std::string& output : made.outputs) rename(output);
  return made;
}

std::shared_ptr<const ModelBranches> renamed(const ModelBranches& branches, const Names& names) {
  return std::make_shared<ModelBranches>(
      ModelBranches{.where_true = renamed(branches.where_true, names),
                    .where_false = renamed(branches.where_false, names)});
}

class BranchWriter {
 public:
  explicit BranchWriter(Model& model) : model_(model) {
    for (const DeclaredValue& input : model.inputs) taken_.insert(input.name);
    for (const ModelTensor& tensor : model.initializers) taken_.insert(tensor.name);
    for (const ModelNode& node : model.nodes) taken_.insert(node.outputs.begin(), node.outputs.end());
  }

  // Adds the nodes of the branch to `nodes`. Values of a branch may have the names of values outside, and both branches
  // usually use the same names, so all of them get new ones.
  void write(const ModelNode& branching, bool where_true, std::vector<ModelNode>& nodes) {
    const ModelGraph& graph = where_true ? branching.branches->where_true : branching.branches->where_false;
    const std::string prefix = !branching.name.empty() ? branching.name : branching.outputs[0];
    Names names;
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
      if (node.branches)
        node.branches = renamed(*node.branches, names);
      for (std::string& output : node.outputs)
        if (!output.empty()) output = names[output] = free_name(prefix, output);
      if (node.metadata.empty()) node.metadata = branching.metadata;
      nodes.push_back(std::move(node));
    }
    for (size_t i = 0; i < std::min(branching.outputs.size(), graph.outputs.size()); ++i)
      if (!branching.outputs[i].empty())
        nodes.push_back({.op = "Identity",
                         .name = prefix + "/Identity",
                         .inputs = {name_here(graph.outputs[i])},
                         .outputs = {branching.outputs[i]},
                         .metadata = branching.metadata});
  }

 private:
  std::string free_name(const std::string& prefix, const std::string& name) {
    std::string made = fmt::format("{}/{}", prefix, name);
    for (int copy = 2; !taken_.insert(made).second; ++copy) made = fmt::format("{}/{}:{}", prefix, name, copy);
    return made;
  }

  Model& model_;
  std::unordered_set<std::string> taken_ = {};
};

// By node: whether the condition of an If is true.
Result<std::unordered_map<int, bool>> find_conditions(const Model& model, const SimplifyOptions& options) {
  Model scratch = model;
  std::vector<std::string> unused;
  PLIMSOLL_ASSIGN(const GraphOrder order, order_graph(scratch));
  widen(scratch, order, unused);
  return known_conditions(scratch, order, options);
}

}  // namespace

// A branch may contain another If, and a condition may depend on the result of another.
Status take_branches(Model& model, const SimplifyOptions& options, std::vector<std::string>& notes) {
  int64_t taken = 0;
  while (std::any_of(model.nodes.begin(), model.nodes.end(), is_branching)) {
    PLIMSOLL_ASSIGN(const auto conditions, find_conditions(model, options));
    if (conditions.empty()) break;
    BranchWriter writer(model);
    std::vector<ModelNode> nodes;
    for (int i = 0; i < static_cast<int>(model.nodes.size()); ++i) {
      ModelNode& node = model.nodes[static_cast<size_t>(i)];
      if (const auto condition = conditions.find(i); condition != conditions.end())
        writer.write(node, condition->second, nodes);
      else nodes.push_back(std::move(node));
    }
    model.nodes = std::move(nodes);
    taken += static_cast<int64_t>(conditions.size());
    PLIMSOLL_TRY(check_attributes(model, model.opset));
  }
  if (taken > 0)
    notes.push_back(fmt::format("{} whose condition is known: {} is taken", counted(taken, "If node"),
                                taken == 1 ? "its branch" : "the branch of each"));
  return {};
}

}  // namespace plimsoll
