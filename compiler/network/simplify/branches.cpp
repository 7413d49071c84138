#include "compiler/network/simplify/branches.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compiler/network/simplify/attributes.h"
#include "compiler/network/simplify/builder.h"
#include "compiler/network/simplify/graph_order.h"
#include "compiler/network/simplify/inner_graphs.h"
#include "compiler/network/simplify/listed_sequences.h"
#include "compiler/network/simplify/module_path.h"
#include "compiler/network/simplify/node_checks.h"
#include "compiler/network/simplify/widen.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

// Adds the nodes of the branch to `nodes`.
void write_branch(InnerGraphs& graphs, const ModelNode& branching, bool where_true, std::vector<ModelNode>& nodes) {
  const std::string prefix = !branching.name.empty() ? branching.name : branching.outputs[0];
  const ModelGraph& branch = where_true ? branching.branches->where_true : branching.branches->where_false;
  const std::vector<std::string> made =
      graphs.write(branch, graphs.add_initializers(branch, prefix), prefix, branching.metadata, nodes);
  for (size_t i = 0; i < std::min(branching.outputs.size(), made.size()); ++i)
    if (!branching.outputs[i].empty())
      nodes.push_back({.op = "Identity",
                       .name = prefix + "/Identity",
                       .inputs = {made[i]},
                       .outputs = {branching.outputs[i]},
                       .metadata = branching.metadata});
}

// By node: whether the condition of an If is true.
Result<std::unordered_map<int, bool>> find_conditions(const Model& model, const SimplifyOptions& options) {
  Model scratch = model;
  std::vector<std::string> unused;
  PLIMSOLL_ASSIGN(const GraphOrder order, order_graph(scratch));
  PLIMSOLL_TRY(check_inputs(scratch, order));
  widen(scratch, order, unused);
  return known_conditions(scratch, order, options);
}

}  // namespace

std::string open_condition(const Model& model, const ModelNode& branching) {
  std::unordered_map<std::string_view, const ModelNode*> makers;
  for (const ModelNode& node : model.nodes)
    for (const std::string& output : node.outputs) makers.emplace(output, &node);
  std::vector<std::string_view> open = {branching.inputs.begin(), branching.inputs.end()};
  std::unordered_set<std::string_view> seen(open.begin(), open.end());
  while (!open.empty()) {
    const auto maker = makers.find(open.back());
    open.pop_back();
    if (maker == makers.end()) continue;
    for (const std::string& input : maker->second->inputs)
      if (seen.insert(input).second) open.push_back(input);
  }
  std::string names, flags;
  bool of_samples = false;
  int64_t count = 0;
  for (const DeclaredValue& input : model.inputs) {
    if (!seen.contains(input.name)) continue;
    names += fmt::format("{}'{}'", ++count > 1 ? ", " : "", input.name);
    flags += fmt::format("{}--input {}=NUMBER", count > 1 ? " " : "", input.name);
    const auto is_one = [](const DeclaredDim& dim) { return dim.size == 1; };
    of_samples = of_samples || is_real(input.type) || !input.dims ||
                 !std::all_of(input.dims->begin(), input.dims->end(), is_one);
  }
  const std::string what = fmt::format("{}: its condition", describe_in_module(branching));
  constexpr std::string_view kInstead = "export the model with one branch, or with both and torch.where";
  if (count == 0) return fmt::format("{} is not known while compiling: {}", what, kInstead);
  if (!of_samples)
    return fmt::format("{} depends on input {}: {} {} it", what, names, flags, count == 1 ? "decides" : "decide");
  return fmt::format("{} depends on input {}, and a trainer runs the same nodes for all samples: {}", what, names,
                     kInstead);
}

bool is_branching(const ModelNode& node) { return node.op == "If" && node.branches; }

// A branch may contain another If, and a condition may depend on the result of another.
Status take_branches(Model& model, const SimplifyOptions& options, std::vector<std::string>& notes) {
  const auto matters = [](const ModelNode& node) { return node.branches || node.op == "SequenceConstruct"; };
  if (std::none_of(model.nodes.begin(), model.nodes.end(), matters)) return {};
  int64_t taken = 0;
  double left = kMostListedBytes;
  InnerGraphs graphs(model);
  if (list_sequences(model, graphs, left)) PLIMSOLL_TRY(check_attributes(model, model.opset));
  while (std::any_of(model.nodes.begin(), model.nodes.end(), is_branching)) {
    PLIMSOLL_ASSIGN(const auto conditions, find_conditions(model, options));
    if (conditions.empty()) break;
    std::vector<ModelNode> nodes;
    for (int i = 0; i < static_cast<int>(model.nodes.size()); ++i) {
      ModelNode& node = model.nodes[static_cast<size_t>(i)];
      if (const auto condition = conditions.find(i); condition != conditions.end())
        write_branch(graphs, node, condition->second, nodes);
      else nodes.push_back(std::move(node));
    }
    model.nodes = std::move(nodes);
    taken += static_cast<int64_t>(conditions.size());
    list_sequences(model, graphs, left);
    PLIMSOLL_TRY(check_attributes(model, model.opset));
  }
  if (!graphs.renamed_weight().empty())
    return Error{ExitCode::unsupported,
                 refusal_of_renamed(graphs.renamed_weight()),
                 {kRenameAdvice}};
  if (taken > 0)
    notes.push_back(fmt::format("{} whose condition is known: {} is taken", counted(taken, "If node"),
                                taken == 1 ? "its branch" : "the branch of each"));
  return {};
}

}  // namespace plimsoll
