#include "passes/joint.h"

namespace plimsoll {

namespace {

// `bench` has just evaluated the schedule.
Result<JointPlan> plan_of(const search::State& state, const search::Workbench& bench, const Candidate& candidate,
                          const Policy& policy) {
  JointPlan made{.plan = {}, .live_limit = state.limit, .decided = bench.trace};
  PLIMSOLL_ASSIGN(made.plan, plan_within(candidate, policy, made.live_limit, {}, &made.decided));
  return made;
}

}  // namespace

Result<JointPlan> least_plan(const Candidate& candidate, const Policy& policy) {
  const schedule::Model model = ordered_model(candidate, policy);
  search::Workbench bench(model);
  return plan_of(search::least_schedule(bench), bench, candidate, policy);
}

Joint::Joint(const Candidate& candidate, const Policy& policy, int effort)
    : candidate_(candidate), policy_(policy), model_(ordered_model(candidate, policy)),
      frontier_(search::find_frontier(model_, {.effort = effort})) {}

// The frontier's times are upper bounds (schedule/evaluate.h), so the first plan that fits need not be the fastest: the
// others are looked at as long as their computing alone would leave them a chance.
Result<std::optional<JointPlan>> Joint::fastest(int64_t budget_bytes, double seconds) const {
  constexpr double kPessimism = 1.1;  // of the frontier's times, at most
  std::optional<JointPlan> best;
  search::Workbench bench(model_);
  for (auto state = frontier_.states.rbegin(); state != frontier_.states.rend(); ++state) {
    if (!state->outcome.fits(budget_bytes) || state->outcome.busy_seconds >= seconds) continue;
    if (state->outcome.seconds >= kPessimism * seconds) break;
    bench.evaluate(state->fates, state->limit);
    PLIMSOLL_ASSIGN(JointPlan made, plan_of(*state, bench, candidate_, policy_));
    if (made.plan.summary.arena_bytes > budget_bytes || made.plan.summary.iteration_seconds >= seconds) continue;
    seconds = made.plan.summary.iteration_seconds;
    best = std::move(made);
  }
  return best;
}

}  // namespace plimsoll
