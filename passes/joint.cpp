#include "passes/joint.h"

#include "passes/search/fit.h"

namespace plimsoll {

namespace {

// `bench` has just evaluated the schedule. nullopt: it would reach the ceiling.
Result<std::optional<JointPlan>> plan_of(const search::State& state, const search::Workbench& bench,
                                         const Candidate& candidate, const Policy& policy, const Ceiling& ceiling) {
  PLIMSOLL_ASSIGN(std::optional<Plan> plan, plan_below(candidate, policy, state.limit, ceiling, &bench.trace));
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
// others are looked at as long as waiting for data alone would leave them a chance. Addresses may need more than the bytes
// do: then the schedule is looked at under tighter limits, too, which do not depend on the budget. One that is faster than
// the looser one before it is not taken: a larger budget, which takes the looser one, would be slower for it.
Result<std::optional<JointPlan>> Joint::fastest(int64_t budget_bytes, double seconds, const Deadline& deadline) const {
  constexpr int64_t kTighter[] = {0, 64, 32, 16};  // by one part in so many
  std::optional<JointPlan> best;
  search::Workbench bench(model_, deadline);
  for (auto state = frontier_.states.rbegin(); state != frontier_.states.rend(); ++state) {
    if (deadline.passed()) break;
    if (!state->outcome.fits(budget_bytes) || state->outcome.busy_seconds >= seconds) continue;
    double looser = 0;
    for (const int64_t part : kTighter) {
      const int64_t limit = part == 0 ? state->limit : state->outcome.peak_bytes - state->outcome.peak_bytes / part;
      search::State tight = bench.evaluate(state->fates, limit);
      if (part != 0 && !tight.outcome.fits(limit)) {
        tight = search::fit(bench, std::move(tight), limit, {});
        if (!tight.outcome.fits(limit)) break;
        bench.evaluate(tight.fates, limit);
      }
      if (bench.evaluator.least_seconds(bench.trace) >= seconds) break;
      PLIMSOLL_ASSIGN(std::optional<JointPlan> made, plan_of(tight, bench, candidate_, policy_, {.seconds = seconds, .deadline = deadline}));
      if (!made || made->plan.summary.iteration_seconds >= seconds) break;
      if (made->plan.summary.iteration_seconds < looser) continue;
      looser = made->plan.summary.iteration_seconds;
      if (made->plan.summary.arena_bytes > budget_bytes) continue;
      seconds = looser;
      best = std::move(made);
      break;
    }
  }
  return best;
}

}  // namespace plimsoll
