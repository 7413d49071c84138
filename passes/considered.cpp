#include "passes/considered.h"

#include <algorithm>
#include <numeric>

namespace plimsoll {

std::vector<int64_t> considered_sub_batches(const PlanRequest& request, const Variants& variants) {
  if (request.sub_batch != 0) return {request.sub_batch};
  const bool may_split = request.batch > 1 && !variants.of_whole_batch() &&
                         (request.may_split_statistics || !variants.mixes_samples());
  return may_split ? worthwhile_sub_batches(request.batch) : std::vector<int64_t>{request.batch};
}

std::vector<Searched> searched_variants(const Planning& planning, const Found& unlimited, const Minimum& minimum) {
  std::vector<Searched> found;
  Variants& variants = planning.variants;
  Variants* const slices = minimum.in_slices ? variants.in_slices(false) : nullptr;
  if (Variants* const state_only = slices ? variants.in_slices(true) : nullptr)
    found.push_back({state_only, planning.policy});
  if (minimum.whole.arena() <= planning.budget_bytes) {
    found.push_back({&variants, planning.policy});
    // With several ranks, also the order in which the whole batch is fastest, since it may differ (recipe.h).
    Policy as_whole = planning.policy;
    as_whole.order = unlimited.policy.order;
    if (as_whole.order != planning.policy.order) found.push_back({&variants, as_whole});
  }
  if (slices) found.push_back({slices, planning.policy});
  return found;
}

// Results of lower efforts are considered too, so that more effort never gives a slower plan. Without a time limit the
// highest effort runs first: afterwards most lower-effort schedules need no placement. With a time limit the lowest
// effort runs first, because a search descends from large to small memory and a long one may not reach this budget in
// time.
std::vector<int> efforts_of(const PlanRequest& request) {
  std::vector<int> efforts(static_cast<size_t>(request.effort) + 1);
  std::iota(efforts.begin(), efforts.end(), 0);
  if (request.time_limit_seconds <= 0) std::reverse(efforts.begin(), efforts.end());
  return efforts;
}

}  // namespace plimsoll
