#include "compiler/network/simplify/graph_order.h"

#include <fmt/format.h>

#include <functional>
#include <queue>
#include <string_view>
#include <unordered_map>

#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

constexpr int kInput = -1, kInitializer = -2;

using Makers = std::unordered_map<std::string_view, int>;  // name → node, kInput or kInitializer

std::string describe_maker(const Model& model, int maker) {
  return maker == kInput ? "a model input" : maker == kInitializer ? "an initializer" : describe(model.nodes[maker]);
}

Result<Makers> find_makers(const Model& model) {
  Makers makers;
  const auto twice = [&](const std::string& name, int first, int second) {
    return Error{ExitCode::invalid_model, fmt::format("'{}' is defined twice: by {} and by {}", name,
                                                      describe_maker(model, first), describe_maker(model, second))};
  };
  for (const auto& input : model.inputs)
    if (const auto [at, fresh] = makers.emplace(input.name, kInput); !fresh)
      return twice(input.name, at->second, kInput);
  for (const auto& tensor : model.initializers) {
    if (tensor.name.empty()) return Error{ExitCode::invalid_model, "an initializer has no name"};
    const auto [at, fresh] = makers.emplace(tensor.name, kInitializer);
    // Before IR version 4 every initializer is an input as well; since then it may be one, with a default.
    if (!fresh && at->second == kInitializer) return twice(tensor.name, kInitializer, kInitializer);
    at->second = kInitializer;
  }
  for (int i = 0; i < static_cast<int>(model.nodes.size()); ++i)
    for (const std::string& output : model.nodes[i].outputs)
      if (!output.empty())
        if (const auto [at, fresh] = makers.emplace(output, i); !fresh) return twice(output, at->second, i);
  return makers;
}

// The nodes that an output of the model depends on.
Result<std::vector<bool>> find_needed(const Model& model, const Makers& makers) {
  std::vector<bool> needed(model.nodes.size(), false);
  std::vector<int> open;
  const auto need = [&](std::string_view name) {
    const auto found = makers.find(name);
    if (found == makers.end()) return false;
    if (found->second >= 0 && !needed[static_cast<size_t>(found->second)]) {
      needed[static_cast<size_t>(found->second)] = true;
      open.push_back(found->second);
    }
    return true;
  };
  if (model.outputs.empty()) return Error{ExitCode::invalid_model, "the model has no outputs"};
  for (const auto& output : model.outputs)
    if (!need(output.name))
      return Error{ExitCode::invalid_model, fmt::format("model output '{}' is not produced by any node", output.name)};
  while (!open.empty()) {
    const ModelNode& node = model.nodes[open.back()];
    open.pop_back();
    for (const std::string& input : node.inputs)
      if (!input.empty() && !need(input))
        return Error{
            ExitCode::invalid_model,
            fmt::format(
                "{}: its input '{}' is neither an input of the model, nor an initializer, nor produced by a node",
                describe(node), input)};
  }
  return needed;
}

// Every remaining node waits for another remaining one, so following makers must reach a node twice.
Error cycle_error(const Model& model, const Makers& makers, const std::vector<int>& waiting, int start) {
  std::vector<int> seen_at(model.nodes.size(), -1);
  std::vector<int> path;
  for (int node = start; seen_at[static_cast<size_t>(node)] < 0;) {
    seen_at[static_cast<size_t>(node)] = static_cast<int>(path.size());
    path.push_back(node);
    int next = node;
    for (const std::string& input : model.nodes[node].inputs) {
      const int maker = input.empty() ? kInput : makers.at(input);
      if (maker >= 0 && waiting[static_cast<size_t>(maker)] > 0) next = maker;
    }
    if (seen_at[static_cast<size_t>(next)] >= 0)
      path.erase(path.begin(), path.begin() + seen_at[static_cast<size_t>(next)]);
    node = next;
  }
  Error error{ExitCode::invalid_model,
              fmt::format("the graph has a cycle of {}", counted(static_cast<int64_t>(path.size()), "node"))};
  constexpr size_t kShown = 20;
  for (size_t i = 0; i < std::min(path.size(), kShown); ++i)
    error.notes.push_back(fmt::format("{} waits for {}", describe(model.nodes[path[i]]),
                                      describe(model.nodes[path[(i + 1) % path.size()]])));
  if (path.size() > kShown) error.notes.push_back(fmt::format("… and {} more", path.size() - kShown));
  return error;
}

}  // namespace

Result<GraphOrder> order_graph(const Model& model) {
  PLIMSOLL_ASSIGN(const Makers makers, find_makers(model));
  PLIMSOLL_ASSIGN(const std::vector<bool> needed, find_needed(model, makers));

  const size_t count = model.nodes.size();
  std::vector<int> waiting(count, 0);  // inputs whose makers are not yet ordered
  std::vector<std::vector<int>> readers(count);
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;  // the earliest in the file first
  GraphOrder order;
  size_t wanted = 0;
  for (int i = 0; i < static_cast<int>(model.nodes.size()); ++i) {
    if (!needed[static_cast<size_t>(i)]) {
      order.unused.push_back(describe(model.nodes[i]));
      continue;
    }
    ++wanted;
    for (const std::string& input : model.nodes[i].inputs) {
      const int maker = input.empty() ? kInput : makers.at(input);
      if (maker < 0) continue;
      ++waiting[static_cast<size_t>(i)];
      readers[static_cast<size_t>(maker)].push_back(i);
    }
    if (waiting[static_cast<size_t>(i)] == 0) ready.push(i);
  }
  int last = -1;
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.sorted = order.sorted || node < last;
    last = node;
    order.nodes.push_back(node);
    for (const int reader : readers[static_cast<size_t>(node)])
      if (--waiting[static_cast<size_t>(reader)] == 0) ready.push(reader);
  }
  if (order.nodes.size() == wanted) return order;
  int start = 0;
  while (waiting[static_cast<size_t>(start)] == 0) ++start;
  return cycle_error(model, makers, waiting, start);
}

void notes_of_order(const GraphOrder& order, std::vector<std::string>& notes) {
  if (order.sorted) notes.push_back("the nodes of the model were not in topological order; they are sorted");
  if (order.unused.empty()) return;
  const auto left = static_cast<int64_t>(order.unused.size());
  std::string shown;
  for (size_t i = 0; i < std::min<size_t>(order.unused.size(), 3); ++i) shown += (i ? ", " : "") + order.unused[i];
  notes.push_back(fmt::format("{} removed because no output depends on {}: {}{}", counted(left, "node"),
                              left == 1 ? "it" : "them", shown, order.unused.size() > 3 ? ", …" : ""));
}

}  // namespace plimsoll
