#include "passes/schedule_steps.h"

#include "passes/schedule/model.h"

namespace plimsoll {

Status schedule_steps(Plan& plan, const Context& context) {
  if (!context.policy.schedule) return {};
  const schedule::Model model = schedule::make_model(plan, context);
  schedule::put_steps(plan,
                      context.policy.schedule({context.graph, model, plan.rank_samples(), context.live_limit}));
  return {};
}

}  // namespace plimsoll
