#include "passes/needs.h"

namespace plimsoll {

Status needs(Plan& plan, const Context& context) {
  for (PlanTask& task : plan.tasks) task.needs.clear();
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::compute || plan.need_of(step)) continue;
    PlanTask& task = plan.tasks[step.task];
    const Choice* const chosen = context.choices.find(step.task, step.recompute, step.algorithm);
    PLIMSOLL_CHECK(chosen, task.name + ": unknown algorithm " + step.algorithm);
    task.needs.push_back({.algorithm = chosen->algorithm,
                          .workspace_bytes = chosen->workspace_bytes,
                          .recompute = step.recompute && !task.remembers.empty()});
  }
  return {};
}

}  // namespace plimsoll
