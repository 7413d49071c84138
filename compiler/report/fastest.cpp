#include "compiler/report/fastest.h"

#include <algorithm>
#include <tuple>

namespace plimsoll {

void note_fastest(Plan& plan, const TaskGraph& graph, const Costs& costs) {
  // The last round may be smaller, and uses the same algorithms.
  const int64_t samples = plan.rank_samples(), last_samples = plan.last_sub_batch / plan.ranks;
  const auto serves = [&](const Task& task, const AlgorithmCost& algorithm) {
    if (last_samples == samples || last_samples == 0) return true;
    const auto last = costs.algorithms(task, last_samples);
    return std::any_of(last.begin(), last.end(),
                       [&](const AlgorithmCost& other) { return other.name == algorithm.name; });
  };
  plan.fastest = {};
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::compute || !graph.tasks.contains(step.task)) continue;
    // recomputing does less work, with separate algorithms
    if (step.recompute && !graph.tasks[step.task].remembers.empty()) continue;
    const AlgorithmCost* best = nullptr;
    for (const AlgorithmCost& algorithm : costs.algorithms(graph.tasks[step.task], samples))
      if (serves(graph.tasks[step.task], algorithm) &&
          (!best ||
           std::tuple(!algorithm.deterministic, algorithm.seconds) < std::tuple(!best->deterministic, best->seconds)))
        best = &algorithm;
    if (!best || best->name == step.algorithm) continue;
    if (!plan.fastest.contains(step.task)) plan.fastest.resize(plan.tasks.size());
    plan.fastest[step.task] = {
        .algorithm = best->name, .workspace_bytes = best->workspace_bytes, .seconds = best->seconds};
  }
}

}  // namespace plimsoll
