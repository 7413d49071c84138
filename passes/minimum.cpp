#include "passes/minimum.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <utility>

#include "compiler/support/bytes.h"
#include "passes/rivals.h"
#include "passes/search/frontier.h"
#include "passes/search/host_pool.h"
#include "passes/search/starts.h"

namespace plimsoll {
namespace {

constexpr size_t kTightest = 4;  // schedules placed for the minimum plan under a host budget

// Under a binding host budget, the minimum-memory schedule needs a search. Effort 0 suffices: the caller wants one plan
// only.
Result<Found> least_within_pool(const Planning& planning, const Ordered& ordered) {
  const int64_t pool_limit = search::pool_limit_for(ordered.model, planning.host_budget_bytes);
  const std::vector<search::State> frontier =
      search::find_frontier(ordered.model, {.effort = 0, .pool_limit = pool_limit});
  search::Workbench bench(ordered.model, {}, pool_limit);
  std::optional<Found> minimum;
  for (const search::State& state : std::span(frontier).first(std::min(frontier.size(), kTightest))) {
    if (!bench.evaluate(state.decisions, state.limit).outcome.possible()) continue;
    PLIMSOLL_ASSIGN(Found plan,
                    found_within(ordered.candidate, with_schedule(planning.policy, bench.trace), state.limit));
    if (!minimum || planning.memory_of(plan) < planning.memory_of(*minimum)) minimum = std::move(plan);
  }
  if (!minimum) {
    bench.evaluate(schedule::keep_everything(ordered.model), kNoLimit);
    PLIMSOLL_ASSIGN(minimum, found_within(ordered.candidate, with_schedule(planning.policy, bench.trace), kNoLimit));
  }
  return std::move(*minimum);
}

// A search on two graphs takes twice as long. It is worthwhile for a model in which one layer holds a large part of all
// weights and the update of that layer determines the minimum plan, of `minimum_bytes`. With several ranks, weights are
// updated whole.
bool may_gain_by_slices(const TaskGraph& graph, int64_t minimum_bytes) {
  constexpr int64_t kPart = 4;
  int64_t largest = 0, all = 0;  // bytes that updates access
  for (const Task& task : graph.tasks) {
    if (task.kind != TaskKind::update || task.updates().empty()) continue;
    int64_t bytes = 0;
    for (const auto& touched : {task.reads(), task.updates()})
      for (const TensorId tensor : touched) bytes += graph.tensors[tensor].bytes(1);
    largest = std::max(largest, bytes);
    all += bytes;
  }
  return graph.ranks == 1 && kPart * largest >= all && 2 * largest >= minimum_bytes;
}

// The plan of the minimum-memory schedule (search/starts.h). Its host pool is within the budget, unless those of all
// schedules tried exceed it.
Result<Found> minimum_plan(const Planning& planning, Variants& variants, int64_t sub_batch) {
  PLIMSOLL_ASSIGN(const Ordered* const ordered, variants.ordered(sub_batch, planning.policy));
  search::Workbench bench(ordered->model);
  const search::State minimum = search::minimum_schedule(bench);
  PLIMSOLL_ASSIGN(Found plan,
                  found_within(ordered->candidate, with_schedule(planning.policy, bench.trace), minimum.limit));
  return planning.fits_host(plan) ? std::move(plan) : least_within_pool(planning, *ordered);
}

// The smallest plan of these sub-batches, and of `known` if that is not null. Rivals count only if they take less than
// `below`. `first`: the minimum_plan() of the first sub-batch, if it has been made.
Result<Found> least_of(const Planning& planning, std::span<const int64_t> sub_batches, int64_t below,
                       const Found* known = nullptr, std::optional<Found> first = {}) {
  std::optional<Found> found;
  const Found* least = known;
  const auto take = [&](Found less) { least = &found.emplace(std::move(less)); };
  int64_t bound = kNoLimit;  // of the policy's plans
  for (const int64_t size : sub_batches) {
    if (least && least->arena() <= planning.budget_bytes &&
        planning.deadline.sooner(planning.one_plan_seconds).passed())
      break;
    if (!first) {
      PLIMSOLL_ASSIGN(first, minimum_plan(planning, planning.variants, size));
    }
    Found minimum = *std::exchange(first, std::nullopt);
    PLIMSOLL_ASSIGN(const Ordered* const ordered, planning.variants.ordered(size, planning.policy));
    bound = std::min(bound, ordered->bound_bytes);
    if (planning.fits_host(minimum)) {
      if (!least || minimum.arena() < least->arena()) take(std::move(minimum));
    } else if (!least) {
      PLIMSOLL_ASSIGN(Found unlimited, Recipe(planning, planning.policy).unlimited(size));
      take(std::move(unlimited));
    }
  }
  const std::vector<int64_t> fewest_first(sub_batches.rbegin(), sub_batches.rend());
  std::atomic<int64_t> least_bytes = least->arena();
  const auto deadline = [&] { return least_bytes <= planning.budget_bytes ? planning.deadline : Deadline(); };
  Rivals rivals(planning);
  PLIMSOLL_TRY(rivals.for_each_plan(
      [&](Recipe& recipe, const std::stop_token& unwanted) {
        return recipe.minimum_below(std::min(below, least_bytes.load()), fewest_first, deadline().unless(unwanted));
      },
      [&](Found less) {
        if (less.arena() < least->arena()) take(std::move(less));
        least_bytes = least->arena();
      },
      [&] { return least->arena() <= bound || deadline().passed(); }));
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
    PLIMSOLL_ASSIGN(Found minimum, minimum_plan(planning, *slices, size));
    if (below <= minimum.arena() || !planning.fits_host(minimum)) continue;
    below = minimum.arena();
    found = std::move(minimum);
  }
  return found;
}

// The smallest plan, as least_of() and least_in_slices() find it.
Result<Minimum> minimum_of_search(const Planning& planning, std::span<const int64_t> sub_batches, int64_t below,
                                  const Found* known = nullptr, std::optional<Found> first = {}) {
  PLIMSOLL_ASSIGN(Found whole, least_of(planning, sub_batches, below, known, std::move(first)));
  PLIMSOLL_ASSIGN(std::optional<Found> in_slices, least_in_slices(planning, sub_batches, whole.arena()));
  return Minimum{.whole = std::move(whole), .in_slices = std::move(in_slices)};
}

// The smallest host budget under which a minimum-memory schedule fits. A plan under that host budget also considers
// this schedule, so the host budget works.
Result<std::optional<int64_t>> host_budget_of_search(Planning planning) {
  constexpr int kBisections = 6;
  std::optional<int64_t> works;
  const int64_t given = planning.host_budget_bytes;
  const auto try_minimum = [&](int64_t host_budget) -> Result<bool> {
    planning.host_budget_bytes = host_budget;
    for (const int64_t size : ends_of(planning.sub_batches)) {
      PLIMSOLL_ASSIGN(const Found found, minimum_plan(planning, planning.variants, size));
      if (!planning.fits(found)) continue;
      works = host_budget == kNoLimit ? found.host_pool() : host_budget;
      return true;
    }
    return false;
  };
  PLIMSOLL_ASSIGN(const bool ever, try_minimum(kNoLimit));
  int64_t low = given;
  for (int tries = 0; ever && tries < kBisections && low + (*works - given) / 64 + kAlignment < *works; ++tries) {
    const int64_t middle = low + (*works - low) / 2;
    PLIMSOLL_ASSIGN(const bool less, try_minimum(middle));
    if (!less) low = middle;
  }
  return works;
}

// The host pool that the recipe takes without a host budget: that of its fastest plan, or of its smallest. Its plans
// depend on the host budget, so this makes the plan under the result to be sure that it fits.
Result<std::optional<int64_t>> host_budget_of_recipe(Planning planning) {
  const Policy& policy = planning.policy;
  planning.host_budget_bytes = kNoLimit;
  PLIMSOLL_ASSIGN(const Found whole, Recipe(planning, policy).unlimited(planning.request.batch));
  PLIMSOLL_ASSIGN(const Found free, Recipe(planning, policy).minimum(whole));
  if (!planning.fits(free)) return std::optional<int64_t>();
  PLIMSOLL_ASSIGN(const Found chosen, Recipe(planning, policy).choose(whole, free));
  for (const int64_t host_budget : {chosen.host_pool(), free.host_pool()}) {
    planning.host_budget_bytes = host_budget;
    PLIMSOLL_ASSIGN(const Found minimum, Recipe(planning, policy).minimum(whole));
    if (planning.fits(minimum)) return std::optional(host_budget);
  }
  return std::optional<int64_t>();
}

// The minimum in rounds of one sample, if it takes less than `arena_bytes`.
Result<std::optional<Found>> less_in_rounds(const Planning& planning, int64_t arena_bytes) {
  Minimum found;
  if (planning.policy.searches) {
    PLIMSOLL_ASSIGN(found, minimum_of_search(planning, std::array{int64_t{1}}, arena_bytes));
  } else {
    PLIMSOLL_ASSIGN(found.whole, Recipe(planning, planning.policy).plan(1, 0));
  }
  return found.least().arena() < arena_bytes ? std::optional(found.least()) : std::nullopt;
}

}  // namespace

Result<Found> first_minimum(const Planning& planning) {
  return minimum_plan(planning, planning.variants, planning.sub_batches.front());
}

Result<Minimum> find_minimum(const Planning& planning, const Found& unlimited, std::optional<Found> first) {
  if (!planning.policy.searches) {
    PLIMSOLL_ASSIGN(Found own, Recipe(planning, planning.policy).minimum(unlimited));
    return Minimum{.whole = std::move(own)};
  }
  const std::vector<int64_t>& sizes = planning.sub_batches;
  const Found* const known = sizes.front() == planning.request.batch ? &unlimited : nullptr;
  return minimum_of_search(planning, ends_of(sizes), kNoLimit, known, std::move(first));
}

Result<Remedies> find_remedies(const Planning& planning, const Found& minimum) {
  Remedies remedies;
  if (planning.host_budget_bytes != kNoLimit) {
    PLIMSOLL_ASSIGN(remedies.host_budget, planning.policy.searches ? host_budget_of_search(planning)
                                                                   : host_budget_of_recipe(planning));
    if (remedies.host_budget) return remedies;
  }
  const PlanRequest& request = planning.request;
  const bool whole = request.sub_batch == 0 && request.batch > 1 && planning.sub_batches.size() == 1;
  if (whole && !planning.variants.of_whole_batch()) {
    PLIMSOLL_ASSIGN(remedies.in_rounds, less_in_rounds(planning, minimum.arena()));
  }
  return remedies;
}

}  // namespace plimsoll
