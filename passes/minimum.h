// The smallest plan that a request allows. A budget below it is infeasible (infeasible.h).
#pragma once

#include <optional>
#include <span>

#include "passes/planning.h"

namespace plimsoll {

struct Minimum {
  Found whole;                       // weights are updated whole
  std::optional<Found> in_slices{};  // weights are updated slice by slice; nullopt: that gains nothing
  const Found& least() const { return in_slices ? *in_slices : whole; }
};

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

}  // namespace plimsoll
