// The smallest plan that a request allows. A budget below it is infeasible; this also finds what would work instead.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "passes/planning.h"

namespace plimsoll {

// The plan of the minimum-memory schedule (search/starts.h), and a lower bound on the bytes of any schedule
// (search/bound.h).
struct MinimumPlan {
  Found found;
  int64_t bound_bytes = 0;
};
// The host pool takes at most `host_budget` bytes, unless every schedule tried exceeds it.
Result<MinimumPlan> minimum_plan(const Candidate& candidate, const Policy& policy, int64_t host_budget = kNoLimit);

// Under a policy that searches: every tensor that may be evicted is evicted right after use, or a policy of the
// literature that needs less. Under another policy: its own minimum. None of this depends on the budget, except that a
// deadline ends the search for less once something fits.
Result<Minimum> find_minimum(const Planning& planning, const Found& unlimited);

// The smallest plan of these sub-batches and of `known`. Recipes are only asked for less than `below`.
Result<Found> least_of(const Planning& planning, std::span<const int64_t> sub_batches, bool may_split, int64_t below,
                       std::optional<Found> known = std::nullopt);

// The same with weights updated in slices. nullopt: none needs less than `below`.
Result<std::optional<Found>> least_in_slices(const Planning& planning, std::span<const int64_t> sub_batches,
                                             int64_t below);

// Before: `minimum` does not fit. `works` plans again under another host budget, and returns true if that has a plan.
Result<Remedies> find_remedies(const Planning& planning, const Found& minimum,
                               const std::function<Result<bool>(int64_t host_budget)>& works);

// Updating weights in slices (docs/decisions/slices.md) with all of their state in the host pool may be worth a search
// of its own. False if the update is small compared with the activations: then all of its state stays on the device, or
// leaves as a whole.
bool has_much_state(const TaskGraph& graph, int64_t unconstrained_bytes);

}  // namespace plimsoll
