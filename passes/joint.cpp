#include "passes/joint.h"

namespace plimsoll {

namespace {

// `bench` has just evaluated the schedule. nullopt: no faster than `seconds`.
Result<std::optional<JointPlan>> plan_of(const search::State& state, const search::Workbench& bench,
                                         const Candidate& candidate, const Policy& policy, double seconds) {
  PLIMSOLL_ASSIGN(std::optional<Plan> plan, plan_below(candidate, policy, state.limit, {.seconds = seconds}, &bench.trace));
  if (!plan) return std::optional<JointPlan>();
  return std::optional(JointPlan{.plan = std::move(*plan), .live_limit = state.limit, .decided = bench.trace});
}

}  // namespace

Result<LeastPlan> least_plan(const Candidate& candidate, const Policy& policy) {
  const schedule::Model model = ordered_model(candidate, policy);
  search::Workbench bench(model);
  const search::State least = search::least_schedule(bench);
  PLIMSOLL_ASSIGN(Plan plan, plan_within(candidate, policy, least.limit, {}, &bench.trace));
  return LeastPlan{{std::move(plan), least.limit, bench.trace}, search::bound_bytes(model)};
}

Joint::Joint(const Candidate& candidate, const Policy& policy, int effort, const Deadline& deadline)
    : candidate_(candidate), policy_(policy), model_(ordered_model(candidate, policy)),
      frontier_(search::find_frontier(model_, {.effort = effort, .deadline = deadline})) {}

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
    PLIMSOLL_ASSIGN(std::optional<JointPlan> made, plan_of(*state, bench, candidate_, policy_, seconds));
    if (!made || made->plan.summary.arena_bytes > budget_bytes || made->plan.summary.iteration_seconds >= seconds) continue;
    seconds = made->plan.summary.iteration_seconds;
    best = std::move(made);
  }
  return best;
}

}  // namespace plimsoll
