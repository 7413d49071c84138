#include "compiler/report/fastest.h"

#include <algorithm>
#include <tuple>

namespace plimsoll {

void note_fastest(Plan& plan, const TaskGraph& graph, const Costs& costs) {
  for (PlanTask& task : plan.tasks) task.fastest = {};
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::compute || !graph.tasks.contains(step.task)) continue;
    const auto algorithms = costs.algorithms(graph.tasks[step.task], plan.sub_batch);
    const auto best = std::min_element(algorithms.begin(), algorithms.end(), [](const AlgorithmCost& a, const AlgorithmCost& b) {
      return std::tuple(!a.deterministic, a.seconds) < std::tuple(!b.deterministic, b.seconds);
    });
    if (best == algorithms.end() || best->name == step.algorithm) continue;
    plan.tasks[step.task].fastest = {.algorithm = best->name, .workspace_bytes = best->workspace_bytes, .seconds = best->seconds};
  }
}

}  // namespace plimsoll
