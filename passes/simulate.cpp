#include "passes/simulate.h"

#include "passes/analysis/timeline.h"

namespace plimsoll {

Status simulate(Plan& plan, const Context& context) {
  const auto add = [&](const Timeline& line, int64_t rounds) {
    const double times = static_cast<double>(rounds);
    plan.summary.iteration_seconds += times * line.seconds;
    plan.summary.stall_seconds += times * line.stall_seconds;
    plan.summary.reduce_seconds += times * line.reduce_seconds;
    for (const StepId id : ids_of(plan.steps))
      if (plan.steps[id].recompute)
        plan.summary.recompute_seconds += times * (line.spans[id].end - line.spans[id].start);
  };
  plan.summary.iteration_seconds = plan.summary.stall_seconds = plan.summary.recompute_seconds = 0;
  plan.summary.reduce_seconds = 0;
  const Timeline shown = simulate_round(plan, context, Round::only);
  for (const StepId id : ids_of(plan.steps)) {
    plan.steps[id].start = shown.spans[id].start;
    plan.steps[id].end = shown.spans[id].end;
  }
  for_each_round(plan, [&](Round round, int64_t times) {
    add(round == Round::only ? shown : simulate_round(plan, context, round), times);
  });
  return {};
}

}  // namespace plimsoll
