#include "passes/needs.h"

#include <algorithm>

namespace plimsoll {

Status needs(Plan& plan, const Context& context) {
  plan.needs = {};
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::compute || plan.need_of(step)) continue;
    for (const Choice& choice : context.choices.of(step.task, step.recompute)) {
      if (choice.algorithm != step.algorithm) continue;
      plan.add_need(step.task, {.algorithm = choice.algorithm,
                                .workspace_bytes = choice.workspace_bytes,
                                .recompute = step.recompute && !plan.tasks[step.task].remembers.empty()});
      break;
    }
  }
  return {};
}

}  // namespace plimsoll
