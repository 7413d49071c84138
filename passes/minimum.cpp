#include "passes/minimum.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "compiler/support/bytes.h"
#include "passes/policies.h"
#include "passes/search/bound.h"
#include "passes/search/frontier.h"
#include "passes/search/host_pool.h"
#include "passes/search/starts.h"
#include "passes/thread_pool.h"

namespace plimsoll {
namespace {

constexpr size_t kTightest = 4;  // schedules placed for the minimum plan under a host budget

// The plan of the minimum-memory schedule (search/starts.h), and a lower bound on the bytes of any schedule
// (search/bound.h).
struct MinimumPlan {
  Found found;
  int64_t bound_bytes = 0;
};

// Under a binding host budget, the minimum-memory schedule needs a search. Effort 0 suffices: the caller wants one plan
// only.
Result<Found> least_within_pool(const Candidate& candidate, const Policy& policy, const schedule::Model& model,
                                int64_t host_budget) {
  const int64_t pool_limit = search::pool_limit_for(model, host_budget);
  const std::vector<search::State> frontier = search::find_frontier(model, {.effort = 0, .pool_limit = pool_limit});
  search::Workbench bench(model, {}, pool_limit);
  std::optional<Found> minimum;
  const auto fits = [&](const Found& each) { return each.host_pool() <= host_budget; };
  for (const search::State& state : std::span(frontier).first(std::min(frontier.size(), kTightest))) {
    if (!bench.evaluate(state.decisions, state.limit).outcome.possible()) continue;
    PLIMSOLL_ASSIGN(Found plan, found_within(candidate, with_schedule(policy, bench.trace), state.limit));
    if (minimum && (!fits(plan) || (fits(*minimum) && minimum->arena() <= plan.arena()))) continue;
    minimum = std::move(plan);
  }
  if (!minimum) {
    bench.evaluate(schedule::keep_everything(model), kNoLimit);
    PLIMSOLL_ASSIGN(minimum, found_within(candidate, with_schedule(policy, bench.trace), kNoLimit));
  }
  return std::move(*minimum);
}

struct UpdateBytes {
  int64_t largest = 0;  // bytes accessed by the largest update
  int64_t all = 0;
};

UpdateBytes update_bytes(const TaskGraph& graph) {
  UpdateBytes found;
  for (const Task& task : graph.tasks) {
    if (task.kind != TaskKind::update || task.updates().empty()) continue;
    int64_t bytes = 0;
    for (const auto& touched : {task.reads(), task.updates()})
      for (const TensorId tensor : touched) bytes += graph.tensors[tensor].bytes(1);
    found.largest = std::max(found.largest, bytes);
    found.all += bytes;
  }
  return found;
}

// A search on two graphs takes twice as long. It pays for a model in which one layer holds a large part of all weights
// and the update of that layer determines the minimum plan, of `minimum_bytes`. With several ranks, weights are updated
// whole.
bool may_gain_by_slices(const TaskGraph& graph, int64_t minimum_bytes) {
  constexpr int64_t kPart = 4;
  const UpdateBytes updates = update_bytes(graph);
  return graph.ranks == 1 && kPart * updates.largest >= updates.all && 2 * updates.largest >= minimum_bytes;
}

// The host pool takes at most `host_budget` bytes, unless every schedule tried exceeds it.
Result<MinimumPlan> minimum_plan(Variants& variants, int64_t sub_batch, const Policy& policy, int64_t host_budget) {
  PLIMSOLL_ASSIGN(const Candidate* const candidate, variants.candidate(sub_batch));
  PLIMSOLL_ASSIGN(const schedule::Model* const model, variants.model(sub_batch, policy));
  PLIMSOLL_ASSIGN(const int64_t bound, variants.bound_bytes(sub_batch, policy));
  search::Workbench bench(*model);
  const search::State minimum = search::minimum_schedule(bench);
  PLIMSOLL_ASSIGN(Found plan, found_within(*candidate, with_schedule(policy, bench.trace), minimum.limit));
  if (plan.host_pool() <= host_budget) return MinimumPlan{std::move(plan), bound};
  PLIMSOLL_ASSIGN(Found within, least_within_pool(*candidate, policy, *model, host_budget));
  return MinimumPlan{std::move(within), bound};
}

// The smallest plan of these sub-batches and `known`, which may be null. Recipes are only asked for less than `below`.
Result<Found> least_of(const Planning& planning, std::span<const int64_t> sub_batches, bool may_split, int64_t below,
                       const Found* known = nullptr) {
  std::optional<Found> found;
  const Found* least = known;
  const auto take = [&](Found less) { least = &found.emplace(std::move(less)); };
  int64_t bound = kNoLimit;
  for (const int64_t size : sub_batches) {
    if (least && least->arena() <= planning.budget_bytes &&
        planning.deadline.sooner(planning.one_plan_seconds).passed())
      break;
    PLIMSOLL_ASSIGN(MinimumPlan minimum,
                    minimum_plan(planning.variants, size, planning.policy, planning.host_budget()));
    bound = std::min(bound, minimum.bound_bytes);
    if (!planning.fits_host(minimum.found.host_pool())) {
      if (least) continue;
      PLIMSOLL_ASSIGN(Found unlimited, planning.recipe(planning.policy).unconstrained(size));
      take(std::move(unlimited));
      continue;
    }
    if (!least || minimum.found.arena() < least->arena()) take(std::move(minimum.found));
  }
  const std::vector<int64_t> fewest_first(sub_batches.rbegin(), sub_batches.rend());
  const auto deadline_now = [&] {
    return least->arena() <= planning.budget_bytes ? planning.deadline : Deadline();
  };
  std::map<const Policy*, std::vector<WorkItem*>> ahead;
  // With one thread, what is not needed is not computed.
  const bool alone = planning.request.threads == 1 || planning.variants.measures() || least->arena() <= bound ||
                     deadline_now().passed();
  ThreadPool pool(alone ? 1 : planning.request.threads);
  for (const Policy& policy : all_policies()) {
    if (alone || policy.searches || !policy.share_memory) continue;
    Recipe recipe = planning.recipe(policy, may_split, deadline_now());
    for (const auto& [sub_batch, limit] : recipe.plans_of_minimum(fewest_first)) {
      const auto precompute = [recipe, sub_batch = sub_batch, limit = limit,
                            most = std::min(below, least->arena())](const std::stop_token&) mutable {
        (void)recipe.precompute_minimum(sub_batch, limit, most);  // minimum_below() meets an error again
        return false;
      };
      ahead[&policy].push_back(&pool.add(static_cast<double>(ahead.size()), precompute));
    }
  }
  for (const Policy& policy : all_policies()) {
    const Deadline deadline = deadline_now();
    if (least->arena() <= bound || deadline.passed()) break;
    if (policy.searches || !policy.share_memory) continue;
    Recipe recipe = planning.recipe(policy, may_split, deadline);
    for (WorkItem* const each : ahead[&policy]) pool.reach(*each, 1);
    PLIMSOLL_ASSIGN(std::optional<Found> less, recipe.minimum_below(std::min(below, least->arena()), fewest_first));
    if (less) take(std::move(*less));
  }
  return found ? std::move(*found) : *known;
}

// The same with weights updated in slices. nullopt: none needs less than `below`.
Result<std::optional<Found>> least_in_slices(const Planning& planning, std::span<const int64_t> sub_batches,
                                             int64_t below) {
  std::optional<Found> found;
  if (!may_gain_by_slices(planning.variants.graph(), below)) return found;
  Variants* const slices = planning.variants.in_slices(false);
  if (!slices) return found;
  for (const int64_t size : sub_batches) {
    PLIMSOLL_ASSIGN(MinimumPlan minimum, minimum_plan(*slices, size, planning.policy, planning.host_budget()));
    if (below <= minimum.found.arena() || !planning.fits_host(minimum.found.host_pool())) continue;
    below = minimum.found.arena();
    found = std::move(minimum.found);
  }
  return found;
}

// Judged by the minimum-memory schedules, which a plan under that host budget also considers.
Result<std::optional<int64_t>> host_budget_of_search(const Planning& planning) {
  constexpr int kBisections = 6;
  std::optional<int64_t> works;
  const auto try_minimum = [&](int64_t host_budget) -> Result<bool> {
    for (const int64_t size : ends_of(planning.sub_batches())) {
      PLIMSOLL_ASSIGN(const MinimumPlan minimum, minimum_plan(planning.variants, size, planning.policy, host_budget));
      const Found& found = minimum.found;
      if (found.arena() > planning.budget_bytes || found.host_pool() > host_budget) continue;
      works = host_budget == kNoLimit ? found.host_pool() : host_budget;
      return true;
    }
    return false;
  };
  PLIMSOLL_ASSIGN(const bool ever, try_minimum(kNoLimit));
  const int64_t given = planning.host_budget();
  int64_t low = given;
  for (int tries = 0; ever && tries < kBisections && low + (*works - given) / 64 + kAlignment < *works; ++tries) {
    const int64_t middle = low + (*works - low) / 2;
    PLIMSOLL_ASSIGN(const bool less, try_minimum(middle));
    if (!less) low = middle;
  }
  return works;
}

// Needs a trial, because what a recipe considers depends on the host budget.
Result<std::optional<int64_t>> host_budget_of_recipe(const Planning& planning,
                                                     const std::function<Result<bool>(int64_t)>& trial) {
  std::optional<int64_t> works;
  Recipe free(planning.variants, planning.policy,
              {.budget_bytes = planning.budget_bytes,
               .limits = planning.limits,
               .sub_batch = planning.request.sub_batch,
               .may_split = planning.may_split()});
  PLIMSOLL_ASSIGN(const Found whole, free.unconstrained(planning.request.batch));
  PLIMSOLL_ASSIGN(const Found minimum, free.minimum(whole));
  if (minimum.arena() > planning.budget_bytes) return works;
  PLIMSOLL_ASSIGN(const Found found, free.choose(whole, minimum));
  PLIMSOLL_ASSIGN(const bool tried, trial(found.host_pool()));
  if (tried) works = found.host_pool();
  return works;
}

// With rounds of one sample.
Result<std::optional<Found>> less_in_rounds(const Planning& planning, int64_t arena_bytes) {
  std::optional<Found> found;
  if (planning.policy.searches) {
    const int64_t one_sample[] = {1};
    PLIMSOLL_ASSIGN(found, least_of(planning, one_sample, true, arena_bytes));
    PLIMSOLL_ASSIGN(std::optional<Found> less, least_in_slices(planning, one_sample, found->arena()));
    if (less) found = std::move(less);
  } else {
    PLIMSOLL_ASSIGN(found, planning.recipe(planning.policy, true).minimum_of_one_sample());
  }
  return found->arena() < arena_bytes ? std::move(found) : std::nullopt;
}

}  // namespace

Result<Minimum> find_minimum(const Planning& planning, const Found& unlimited) {
  if (!planning.policy.searches) {
    PLIMSOLL_ASSIGN(Found own, planning.recipe(planning.policy).minimum(unlimited));
    return Minimum{.whole = std::move(own)};
  }
  const std::vector<int64_t> sizes = planning.sub_batches(), ends = ends_of(sizes);
  const Found* const known = sizes.front() == planning.request.batch ? &unlimited : nullptr;
  PLIMSOLL_ASSIGN(Found whole, least_of(planning, ends, planning.may_split(), kNoLimit, known));
  PLIMSOLL_ASSIGN(std::optional<Found> in_slices, least_in_slices(planning, ends, whole.arena()));
  return Minimum{.whole = std::move(whole), .in_slices = std::move(in_slices)};
}

Result<Remedies> find_remedies(const Planning& planning, const Found& minimum,
                               const std::function<Result<bool>(int64_t host_budget)>& works) {
  Remedies remedies;
  if (planning.host_budget() != kNoLimit) {
    PLIMSOLL_ASSIGN(remedies.host_budget, planning.policy.searches ? host_budget_of_search(planning)
                                                                   : host_budget_of_recipe(planning, works));
    if (remedies.host_budget) return remedies;
  }
  const PlanRequest& request = planning.request;
  if (request.sub_batch == 0 && request.batch > 1 && !planning.may_split() && !planning.variants.of_whole_batch()) {
    PLIMSOLL_ASSIGN(remedies.in_rounds, less_in_rounds(planning, minimum.arena()));
  }
  return remedies;
}

}  // namespace plimsoll
