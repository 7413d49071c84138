#include "passes/joint.h"

#include <algorithm>
#include <limits>
#include <span>

#include "passes/search/fit.h"

namespace plimsoll {

namespace {

constexpr size_t kLarge = 50'000;  // steps of an order

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

Joint::Joint(const Candidate& candidate, const Policy& policy, int effort)
    : candidate_(candidate), policy_(policy), model_(ordered_model(candidate, policy)), bound_(model_),
      descent_(model_, {.effort = effort}) {}

void Joint::search_on(const Deadline& deadline) {
  std::vector<search::State> more = descent_.next(deadline);
  found_.insert(found_.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

double Joint::rest_seconds(int64_t budget_bytes) {
  if (descent_.below() < 0) return std::numeric_limits<double>::infinity();
  return bound_.seconds(std::min(budget_bytes, descent_.below()));
}

// Addresses may need more than the bytes do: then the schedule is looked at under tighter limits, too, which do not depend on the
// budget. One that is faster than the looser one before it is not taken: a larger budget, which takes the looser one, would be slower
// for it.
Result<std::optional<JointPlan>> Joint::plan(const search::State& state, int64_t budget_bytes, double seconds, const Deadline& deadline) const {
  constexpr int64_t kTighter[] = {0, 64, 32, 16}, kTighterOfLarge[] = {0, 8};  // by one part in so many
  search::Workbench bench(model_, deadline);
  double looser = 0;
  const bool large = model_.order.size() > kLarge;  // to place each takes seconds, and what a quick placement loses is more
  for (const int64_t part : large ? std::span<const int64_t>(kTighterOfLarge) : kTighter) {
    const int64_t limit = part == 0 ? state.limit : state.outcome.peak_bytes - state.outcome.peak_bytes / part;
    search::State tight = bench.evaluate(state.fates, limit);
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
    if (made->plan.summary.arena_bytes <= budget_bytes) return made;
  }
  return std::optional<JointPlan>();
}

}  // namespace plimsoll
