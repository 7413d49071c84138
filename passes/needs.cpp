#include "passes/needs.h"

namespace plimsoll {

Status needs(Plan& plan, const Context& context) {
  plan.needs = {};
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::compute || plan.need_of(step)) continue;
    const Choice* const chosen = context.choices.find(step.task, step.recompute, step.algorithm);
    PLIMSOLL_CHECK(chosen, plan.tasks[step.task].name + ": unknown algorithm " + step.algorithm);
    plan.add_need(step.task, {.algorithm = chosen->algorithm,
                              .workspace_bytes = chosen->workspace_bytes,
                              .recompute = step.recompute && !plan.tasks[step.task].remembers.empty()});
  }
  return {};
}

}  // namespace plimsoll
