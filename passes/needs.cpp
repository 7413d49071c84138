#include "passes/needs.h"

#include <algorithm>

namespace plimsoll {

Status needs(Plan& plan, const Context& context) {
  for (PlanTask& task : plan.tasks) task.needs.clear();
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::compute || plan.need_of(step)) continue;
    PlanTask& task = plan.tasks[step.task];
    for (const Choice& choice : context.choices.of(step.task, step.recompute)) {
      if (choice.algorithm != step.algorithm) continue;
      task.needs.push_back({.algorithm = choice.algorithm, .workspace_bytes = choice.workspace_bytes,
                            .recompute = step.recompute && !task.remembers.empty()});
      break;
    }
  }
  return {};
}

}  // namespace plimsoll
