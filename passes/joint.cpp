#include "passes/joint.h"

#include <algorithm>
#include <limits>
#include <span>

#include "passes/search/fit.h"
#include "passes/search/host_pool.h"
#include "passes/search/minimum_schedule.h"

namespace plimsoll {

namespace {

constexpr size_t kLarge = 50'000;  // steps of an order; above this, placement takes seconds

constexpr size_t kTightest = 4;  // schedules placed for the minimum plan under a host budget
constexpr int64_t kPoolSlack = 64;  // host-pool fragmentation allowance: 1/64

// The pool limit for schedules. It is unlimited if no schedule could reach the host budget, so a large enough host
// budget has no effect.
int64_t pool_limit_of(const schedule::Model& model, int64_t host_budget) {
  if (host_budget == kNoLimit || search::max_pool_bytes(model) <= host_budget) return kNoLimit;
  return std::max(host_budget - host_budget / kPoolSlack, search::min_pool_bytes(model));
}

// `bench` must hold the evaluation of the same schedule. nullopt: the plan would reach the ceiling.
Result<std::optional<JointPlan>> plan_of(const search::State& state, const search::Workbench& bench,
                                         const Candidate& candidate, const Policy& policy, const Ceiling& ceiling) {
  PLIMSOLL_ASSIGN(std::optional<Plan> plan, plan_below(candidate, policy, state.limit, ceiling, &bench.trace));
  if (!plan) return std::optional<JointPlan>();
  return std::optional(JointPlan{.plan = std::move(*plan), .live_limit = state.limit, .decided = bench.trace});
}

// Under a binding host budget, the minimum-memory schedule needs a search. Effort 0 suffices: the caller wants one plan
// only.
Result<MinimumPlan> minimum_plan_within_pool(const Candidate& candidate, const Policy& policy,
                                             const schedule::Model& model, int64_t host_budget) {
  const int64_t pool_limit = pool_limit_of(model, host_budget);
  search::Descent descent(model, {.effort = 0, .pool_limit = pool_limit});
  std::vector<search::State> found;
  descent.begin();
  for (size_t segment = 0; segment < descent.segments(); ++segment) {
    while (!descent.ended(segment)) {
      search::Stretch more = descent.next(segment);
      found.insert(found.end(), std::make_move_iterator(more.states.begin()),
                   std::make_move_iterator(more.states.end()));
    }
    descent.forget(segment);
  }
  search::Workbench bench(model, {}, pool_limit);
  std::optional<MinimumPlan> minimum;
  const auto fits = [&](const Plan& plan) { return plan.summary.host_pool_bytes <= host_budget; };
  for (size_t i = 0; i < std::min(found.size(), kTightest); ++i) {
    const search::State& state = found[found.size() - 1 - i];
    if (!bench.evaluate(state.decisions, state.limit).outcome.possible()) continue;
    PLIMSOLL_ASSIGN(Plan plan, plan_within(candidate, policy, state.limit, {}, &bench.trace));
    if (minimum && (!fits(plan) ||
                    (fits(minimum->joint.plan) && minimum->joint.plan.summary.arena_bytes <= plan.summary.arena_bytes)))
      continue;
    minimum = MinimumPlan{{std::move(plan), state.limit, bench.trace}, search::bound_bytes(model)};
  }
  if (minimum) return std::move(*minimum);
  bench.evaluate(schedule::keep_everything(model), kNoLimit);
  PLIMSOLL_ASSIGN(Plan plan, plan_within(candidate, policy, kNoLimit, {}, &bench.trace));
  return MinimumPlan{{std::move(plan), kNoLimit, bench.trace}, search::bound_bytes(model)};
}

}  // namespace

Result<MinimumPlan> minimum_plan(const Candidate& candidate, const Policy& policy, int64_t host_budget) {
  const schedule::Model model = ordered_model(candidate, policy);
  search::Workbench bench(model);
  const search::State minimum = search::minimum_schedule(bench);
  PLIMSOLL_ASSIGN(Plan plan, plan_within(candidate, policy, minimum.limit, {}, &bench.trace));
  if (plan.summary.host_pool_bytes > host_budget)
    return minimum_plan_within_pool(candidate, policy, model, host_budget);
  return MinimumPlan{{std::move(plan), minimum.limit, bench.trace}, search::bound_bytes(model)};
}

Joint::Joint(const Candidate& candidate, const Policy& policy, int effort, int64_t host_budget)
    : candidate_(candidate),
      policy_(policy),
      model_(ordered_model(candidate, policy)),
      host_budget_(host_budget),
      pool_limit_(pool_limit_of(model_, host_budget)),
      bound_(model_),
      descent_(model_, {.effort = effort, .pool_limit = pool_limit_}) {}

void Joint::begin(const Deadline& deadline) {
  if (!segments_.empty()) return;
  descent_.begin(deadline);
  for (size_t segment = 0; segment < descent_.segments(); ++segment) {
    segments_.emplace_back();
    segments_.back().stretches.resize(descent_.stretches(segment));
  }
}

bool Joint::search_on(size_t segment, const Deadline& deadline) {
  Segment& mine = segments_[segment];
  search::Stretch& stretch = mine.stretches[mine.searched++] = descent_.next(segment, deadline);
  mine.complete = stretch.complete;
  return !(mine.ended = stretch.last);
}

bool Joint::forget_unfinished() {
  for (size_t segment = 0; segment < segments_.size(); ++segment) {
    if (segments_[segment].complete) continue;
    descent_.forget(segment);
    segments_[segment] = {.stretches = std::vector<search::Stretch>(descent_.stretches(segment))};
  }
  return descent_.complete();
}

double Joint::bound_seconds(int64_t budget_bytes) {
  const std::lock_guard lock(bounding_);
  return bound_.seconds(budget_bytes);
}

// The arena may exceed the live bytes because of fragmentation. The schedule is then retried under tighter limits,
// which do not depend on the budget. A tighter variant that is faster than the looser one before it is skipped: a
// larger budget would take the looser one and be slower.
Result<std::optional<JointPlan>> Joint::plan(const search::State& state, int64_t budget_bytes, double seconds,
                                             const Deadline& deadline) const {
  constexpr int64_t kTighter[] = {0, 64, 32, 16}, kTighterOfLarge[] = {0, 8};  // limit reduced by 1/64, 1/32, 1/16
  search::Workbench bench(model_, deadline, pool_limit_);
  double looser = 0;
  // Placing each plan takes seconds, and quick placement fragments more.
  const bool large = model_.order.size() > kLarge;
  for (const int64_t part : large ? std::span<const int64_t>(kTighterOfLarge) : kTighter) {
    const int64_t limit = part == 0 ? state.limit : state.outcome.peak_bytes - state.outcome.peak_bytes / part;
    search::State tight = bench.evaluate(state.decisions, limit);
    if (!tight.outcome.possible()) break;
    if (part != 0 && !tight.outcome.fits(limit)) {
      tight = search::fit(bench, std::move(tight), limit, {});
      if (!tight.outcome.fits(limit)) break;
      bench.evaluate(tight.decisions, limit);
    }
    if (bench.evaluator.least_seconds(bench.trace) >= seconds) break;
    PLIMSOLL_ASSIGN(std::optional<JointPlan> made,
                    plan_of(tight, bench, candidate_, policy_, {.seconds = seconds, .deadline = deadline}));
    if (!made || made->plan.summary.iteration_seconds >= seconds) break;
    if (made->plan.summary.iteration_seconds < looser) continue;
    looser = made->plan.summary.iteration_seconds;
    if (made->plan.summary.host_pool_bytes > host_budget_) pool_refused_ = true;
    else if (made->plan.summary.arena_bytes <= budget_bytes) return made;
  }
  return std::optional<JointPlan>();
}

}  // namespace plimsoll
