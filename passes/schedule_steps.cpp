#include "passes/schedule_steps.h"

#include "passes/schedule/model.h"

namespace plimsoll {

Status schedule_steps(Plan& plan, const Context& context) {
  const Policy& policy = context.policy;
  if (policy.decided) schedule::put_steps(plan, *policy.decided);
  if (policy.decided || !policy.schedule) return {};
  const schedule::Model model = schedule::make_model(plan, context);
  schedule::put_steps(plan, policy.schedule({context.graph, model, plan.rank_samples(), context.live_limit}));
  return {};
}

}  // namespace plimsoll
