#include "passes/minimum.h"

#include <algorithm>

#include "passes/joint.h"
#include "passes/slices_gain.h"

namespace plimsoll {

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
