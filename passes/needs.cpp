#include "passes/needs.h"

namespace plimsoll {

Status needs(Plan& plan, const Context& context) {
  plan.needs = {};
  plan.fastest = {};
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::compute || plan.need_of(step)) continue;
    const bool again = step.recompute && !plan.tasks[step.task].remembers.empty();
    const Choice* const chosen = context.choices.find(step.task, step.recompute, step.algorithm);
    PLIMSOLL_CHECK(chosen, plan.tasks[step.task].name + ": unknown algorithm " + step.algorithm);
    plan.add_need(step.task, {chosen->algorithm, chosen->workspace_bytes, again});
    const Choice& fastest = context.choices[step.task].front();
    if (again || fastest.algorithm == chosen->algorithm) continue;
    if (!plan.fastest.contains(step.task)) plan.fastest.resize(plan.tasks.size());
    plan.fastest[step.task] = {fastest.algorithm, fastest.workspace_bytes, fastest.seconds};
  }
  return {};
}

}  // namespace plimsoll
