#include "passes/minimum.h"

#include <algorithm>

#include "passes/search/bound.h"
#include "passes/search/frontier.h"
#include "passes/search/host_pool.h"
#include "passes/search/starts.h"

namespace plimsoll {
namespace {

constexpr size_t kTightest = 4;  // schedules placed for the minimum plan under a host budget

// Under a binding host budget, the minimum-memory schedule needs a search. Effort 0 suffices: the caller wants one plan
// only.
Result<MinimumPlan> minimum_plan_within_pool(const Candidate& candidate, const Policy& policy,
                                             const schedule::Model& model, int64_t host_budget) {
  const int64_t pool_limit = search::pool_limit_for(model, host_budget);
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
    PLIMSOLL_ASSIGN(std::optional<Found> plan, plan_below(candidate, with_schedule(policy, bench.trace), state.limit));
    if (minimum && (!fits(*plan) || (fits(*minimum) && minimum->arena() <= plan->arena()))) continue;
    minimum = std::move(plan);
  }
  if (!minimum) {
    bench.evaluate(schedule::keep_everything(model), kNoLimit);
    PLIMSOLL_ASSIGN(minimum, plan_below(candidate, with_schedule(policy, bench.trace), kNoLimit));
  }
  return MinimumPlan{std::move(*minimum), search::bound_bytes(model)};
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
// and the update of that layer determines the minimum plan, of `minimum_bytes`.
bool may_gain_by_slices(const TaskGraph& graph, int64_t minimum_bytes) {
  constexpr int64_t kPart = 4;
  const UpdateBytes updates = update_bytes(graph);
  return graph.ranks == 1 && kPart * updates.largest >= updates.all && 2 * updates.largest >= minimum_bytes;
}

}  // namespace

Result<MinimumPlan> minimum_plan(const Candidate& candidate, const Policy& policy, int64_t host_budget) {
  const schedule::Model model = ordered_model(candidate, policy);
  search::Workbench bench(model);
  const search::State minimum = search::minimum_schedule(bench);
  PLIMSOLL_ASSIGN(std::optional<Found> plan, plan_below(candidate, with_schedule(policy, bench.trace), minimum.limit));
  if (plan->host_pool() > host_budget) return minimum_plan_within_pool(candidate, policy, model, host_budget);
  return MinimumPlan{std::move(*plan), search::bound_bytes(model)};
}

bool has_much_state(const TaskGraph& graph, int64_t unconstrained_bytes) {
  constexpr int64_t kLittle = 16;
  return kLittle * update_bytes(graph).largest >= unconstrained_bytes;
}

Result<Found> least_of(const Planning& planning, std::span<const int64_t> sub_batches, bool may_split, int64_t below,
                       std::optional<Found> known) {
  std::optional<Found> found = std::move(known);
  int64_t bound = kNoLimit;
  for (const int64_t size : sub_batches) {
    if (found && found->arena() <= planning.budget_bytes &&
        planning.deadline.sooner(planning.one_plan_seconds).passed())
      break;
    PLIMSOLL_ASSIGN(const Candidate* candidate, planning.variants.candidate(size));
    PLIMSOLL_ASSIGN(MinimumPlan minimum, minimum_plan(*candidate, planning.policy, planning.host_budget()));
    bound = std::min(bound, minimum.bound_bytes);
    if (!planning.fits_host(minimum.found.host_pool())) {
      if (found) continue;
      PLIMSOLL_ASSIGN(found, planning.recipe(planning.policy).unconstrained(size));
      continue;
    }
    if (!found || minimum.found.arena() < found->arena()) found = std::move(minimum.found);
  }
  const std::vector<int64_t> fewest_first(sub_batches.rbegin(), sub_batches.rend());
  for (const Policy& policy : all_policies()) {
    const Deadline deadline = found->arena() <= planning.budget_bytes ? planning.deadline : Deadline();
    if (found->arena() <= bound || deadline.passed()) break;
    if (policy.searches || !policy.share_memory) continue;
    Recipe recipe = planning.recipe(policy, may_split, deadline);
    PLIMSOLL_ASSIGN(std::optional<Found> less, recipe.minimum_below(std::min(below, found->arena()), fewest_first));
    if (less) found = std::move(less);
  }
  return std::move(*found);
}

// With several ranks, weights are updated whole.
Result<std::optional<Found>> least_in_slices(const Planning& planning, std::span<const int64_t> sub_batches,
                                             int64_t below) {
  std::optional<Found> found;
  if (!may_gain_by_slices(planning.variants.graph(), below)) return found;
  Variants* const slices = planning.variants.in_slices(false);
  if (!slices) return found;
  for (const int64_t size : sub_batches) {
    PLIMSOLL_ASSIGN(const Candidate* candidate, slices->candidate(size));
    PLIMSOLL_ASSIGN(MinimumPlan minimum, minimum_plan(*candidate, planning.policy, planning.host_budget()));
    if (below <= minimum.found.arena() || !planning.fits_host(minimum.found.host_pool())) continue;
    below = minimum.found.arena();
    found = std::move(minimum.found);
  }
  return found;
}

Result<Minimum> find_minimum(const Planning& planning, const Found& unlimited) {
  if (!planning.policy.searches) {
    PLIMSOLL_ASSIGN(Found own, planning.recipe(planning.policy).minimum(unlimited));
    return Minimum{.whole = std::move(own)};
  }
  const std::vector<int64_t> sizes = planning.sub_batches(), ends = ends_of(sizes);
  std::optional<Found> known;
  if (sizes.front() == planning.request.batch) known = unlimited;
  PLIMSOLL_ASSIGN(Found whole, least_of(planning, ends, planning.may_split(), kNoLimit, std::move(known)));
  PLIMSOLL_ASSIGN(std::optional<Found> in_slices, least_in_slices(planning, ends, whole.arena()));
  return Minimum{.whole = std::move(whole), .in_slices = std::move(in_slices)};
}

}  // namespace plimsoll
