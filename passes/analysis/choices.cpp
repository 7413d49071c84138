#include "passes/analysis/choices.h"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace plimsoll {
namespace {

// The generated program builds the kernels of both rounds with one algorithm name, so it must exist in both.
std::vector<Choice> common(std::span<const AlgorithmCost> usual, std::span<const AlgorithmCost> last,
                           bool deterministic) {
  std::vector<Choice> found;
  for (const AlgorithmCost& algorithm : usual) {
    const auto other = std::ranges::find(last, algorithm.name, &AlgorithmCost::name);
    if (other == last.end() || (deterministic && !(algorithm.deterministic && other->deterministic))) continue;
    found.push_back({.algorithm = algorithm.name,
                     .workspace_bytes = std::max(algorithm.workspace_bytes, other->workspace_bytes),
                     .seconds = algorithm.seconds,
                     .last_seconds = other->seconds});
  }
  return found;
}

// Empty: no algorithm serves both rounds.
std::vector<Choice> worthwhile_choices(std::span<const AlgorithmCost> usual, std::span<const AlgorithmCost> last,
                                       bool deterministic) {
  std::vector<Choice> all = common(usual, last, deterministic);
  if (all.empty()) all = common(usual, last, false);
  std::ranges::stable_sort(all, {}, &Choice::seconds);
  std::vector<Choice> worthwhile;
  for (Choice& choice : all)
    if (worthwhile.empty() || choice.workspace_bytes < worthwhile.back().workspace_bytes)
      worthwhile.push_back(std::move(choice));
  return worthwhile;
}

}  // namespace

Result<Choices> find_choices(const TaskGraph& graph, const Costs& costs, int64_t sub_batch, int64_t last_sub_batch) {
  Choices choices(graph.tasks.size());
  choices.again = IdVector<TaskId, std::vector<Choice>>(graph.tasks.size());
  // Deep networks repeat the same work, and its costs then are the same list.
  using ListOfCosts = std::pair<const AlgorithmCost*, size_t>;
  std::map<std::pair<ListOfCosts, ListOfCosts>, std::vector<Choice>> known;
  const auto choices_of = [&](const Task& task) -> Result<std::vector<Choice>> {
    const auto usual = costs.algorithms(task, sub_batch);
    const auto last = last_sub_batch == sub_batch ? usual : costs.algorithms(task, last_sub_batch);
    std::vector<Choice>& found = known[{{usual.data(), usual.size()}, {last.data(), last.size()}}];
    if (found.empty()) found = worthwhile_choices(usual, last, !costs.admits_nondeterministic());
    if (!found.empty()) return found;
    return Error{
        ExitCode::environment,
        fmt::format("{}: no algorithm supports both {} and {} samples; choose a sub-batch that divides the batch",
                    task.name, sub_batch, last_sub_batch)};
  };
  for (const TaskId id : ids_of(graph.tasks)) {
    const Task& task = graph.tasks[id];
    PLIMSOLL_ASSIGN(choices.first[id], choices_of(task));
    if (task.remembers.empty()) continue;
    PLIMSOLL_ASSIGN(choices.again[id], choices_of(as_run_again(task)));
  }
  return choices;
}

}  // namespace plimsoll
