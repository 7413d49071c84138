#include "compiler/costs/needs.h"

#include <algorithm>

namespace plimsoll {
namespace {

// The maximum over the rounds; -1 if the costs do not know the algorithm.
int64_t needed_by(const Costs& costs, const Task& task, const std::string& algorithm,
                  const std::vector<int64_t>& rounds) {
  int64_t most = -1;
  for (const int64_t samples : rounds)
    for (const AlgorithmCost& known : costs.algorithms(task, samples))
      if (known.name == algorithm) most = std::max(most, known.workspace_bytes);
  return most;
}

}  // namespace

void note_needs(Plan& plan, const TaskGraph& graph, const Costs& costs) {
  std::vector<int64_t> rounds = {plan.rank_samples()};
  if (const int64_t last = plan.last_sub_batch / plan.ranks; last != rounds.front()) rounds.push_back(last);
  plan.needs = {};
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::compute || !graph.tasks.contains(step.task) || plan.need_of(step)) continue;
    const bool again = step.recompute && !plan.tasks[step.task].remembers.empty();
    const Task& work = graph.tasks[step.task];
    const int64_t bytes = again ? needed_by(costs, as_run_again(work), step.algorithm, rounds)
                                : needed_by(costs, work, step.algorithm, rounds);
    if (bytes >= 0)
      plan.add_need(step.task, {.algorithm = step.algorithm, .workspace_bytes = bytes, .recompute = again});
  }
  // If ranks exchange pieces through the workspace, each half holds at least one element per rank.
  const bool staged = plan.ranks > 1 && costs.links().ranks.staging_bytes > 0;
  plan.reduction_needs_bytes = staged ? 2 * plan.ranks * static_cast<int64_t>(sizeof(float)) : 0;
}

}  // namespace plimsoll
