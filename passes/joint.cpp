#include "passes/joint.h"

#include <algorithm>
#include <span>
#include <utility>

#include "passes/search/fit.h"
#include "passes/search/host_pool.h"
#include "passes/search/minimum_schedule.h"
#include "passes/tighten.h"

namespace plimsoll {
namespace {

// Steps of an order. Above this, placing a plan takes seconds, and quick placement fragments more.
constexpr size_t kLarge = 50'000;
constexpr size_t kTightest = 4;  // schedules placed for the minimum plan under a host budget
constexpr int64_t kPoolSlack = 64;  // host-pool fragmentation allowance: 1/64

// The pool limit for schedules. It is unlimited if no schedule could reach the host budget, so a large enough host
// budget has no effect.
int64_t pool_limit_of(const schedule::Model& model, int64_t host_budget) {
  if (host_budget == kNoLimit || search::max_pool_bytes(model) <= host_budget) return kNoLimit;
  return std::max(host_budget - host_budget / kPoolSlack, search::min_pool_bytes(model));
}

// `bench` must hold the evaluation of a schedule under that limit. nullopt: the plan would reach the ceiling.
Result<std::optional<Found>> plan_of(const search::Workbench& bench, int64_t limit, const Candidate& candidate,
                                     const Policy& policy, const Ceiling& ceiling = {}) {
  Policy decided = with_schedule(policy, bench.trace);
  PLIMSOLL_ASSIGN(std::optional<Plan> plan, plan_below(candidate, decided, limit, ceiling));
  if (!plan) return std::optional<Found>();
  return std::optional(Found{std::move(*plan), &candidate, limit, std::move(decided)});
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
      const search::Stretch& more = descent.next(segment);
      found.insert(found.end(), more.states.begin(), more.states.end());
    }
    descent.forget(segment);
  }
  search::Workbench bench(model, {}, pool_limit);
  std::optional<Found> minimum;
  const auto fits = [&](const Found& each) { return each.host_pool() <= host_budget; };
  for (size_t i = 0; i < std::min(found.size(), kTightest); ++i) {
    const search::State& state = found[found.size() - 1 - i];
    if (!bench.evaluate(state.decisions, state.limit).outcome.possible()) continue;
    PLIMSOLL_ASSIGN(std::optional<Found> plan, plan_of(bench, state.limit, candidate, policy));
    if (minimum && (!fits(*plan) || (fits(*minimum) && minimum->arena() <= plan->arena()))) continue;
    minimum = std::move(plan);
  }
  if (!minimum) {
    bench.evaluate(schedule::keep_everything(model), kNoLimit);
    PLIMSOLL_ASSIGN(minimum, plan_of(bench, kNoLimit, candidate, policy));
  }
  return MinimumPlan{std::move(*minimum), search::bound_bytes(model)};
}

}  // namespace

Result<MinimumPlan> minimum_plan(const Candidate& candidate, const Policy& policy, int64_t host_budget) {
  const schedule::Model model = ordered_model(candidate, policy);
  search::Workbench bench(model);
  const search::State minimum = search::minimum_schedule(bench);
  PLIMSOLL_ASSIGN(std::optional<Found> plan, plan_of(bench, minimum.limit, candidate, policy));
  if (plan->host_pool() > host_budget) return minimum_plan_within_pool(candidate, policy, model, host_budget);
  return MinimumPlan{std::move(*plan), search::bound_bytes(model)};
}

Joint::Joint(const Candidate& candidate, const Policy& policy, int effort, int64_t host_budget)
    : candidate_(candidate),
      policy_(policy),
      model_(ordered_model(candidate, policy)),
      host_budget_(host_budget),
      pool_limit_(pool_limit_of(model_, host_budget)),
      bound_(model_),
      descent_(model_, {.effort = effort, .pool_limit = pool_limit_}) {}

double Joint::bound_seconds(int64_t budget_bytes) {
  const std::lock_guard lock(bounding_);
  return bound_.seconds(budget_bytes);
}

// The tighter limits do not depend on the budget. A tighter variant that is faster than the looser one before it is
// skipped: a larger budget would take the looser one and be slower.
Result<std::optional<Found>> Joint::plan(const search::State& state, int64_t budget_bytes, double seconds,
                                         const Deadline& deadline) const {
  constexpr int64_t kTighter[] = {64, 32, 16}, kTighterOfLarge[] = {8};  // limit reduced by 1/64, 1/32, 1/16
  const bool large = model_.order.size() > kLarge;
  std::span<const int64_t> parts = large ? std::span<const int64_t>(kTighterOfLarge) : kTighter;
  search::Workbench bench(model_, deadline, pool_limit_);
  bool as_found = true;
  const auto make = [&](int64_t limit) -> Result<std::optional<Found>> {
    const bool refit = !std::exchange(as_found, false);
    search::State tight = bench.evaluate(state.decisions, limit);
    if (!tight.outcome.possible()) return std::optional<Found>();
    if (refit && !tight.outcome.fits(limit)) {
      tight = search::fit(bench, std::move(tight), limit, {});
      if (!tight.outcome.fits(limit)) return std::optional<Found>();
      bench.evaluate(tight.decisions, limit);
    }
    if (bench.evaluator.least_seconds(bench.trace) >= seconds) return std::optional<Found>();
    PLIMSOLL_ASSIGN(std::optional<Found> made,
                    plan_of(bench, limit, candidate_, policy_, {.seconds = seconds, .deadline = deadline}));
    return made && made->seconds() >= seconds ? std::nullopt : std::move(made);
  };
  double looser = 0;
  const auto fits = [&](const Found& made, int64_t) {
    if (made.seconds() < looser) return false;
    looser = made.seconds();
    pool_refused_ |= made.host_pool() > host_budget_;
    return made.host_pool() <= host_budget_ && made.arena() <= budget_bytes;
  };
  const auto next = [&](const Found&, int64_t, bool fit) -> std::optional<int64_t> {
    if (fit || parts.empty()) return std::nullopt;
    const int64_t limit = state.outcome.peak_bytes - state.outcome.peak_bytes / parts.front();
    parts = parts.subspan(1);
    return limit;
  };
  return tighten(state.limit, make, fits, next);
}

}  // namespace plimsoll
