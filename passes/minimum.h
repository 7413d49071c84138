// The smallest plan that a request allows. A budget below it is infeasible; this also finds what would work instead.
#pragma once

#include <optional>

#include "passes/planning.h"

namespace plimsoll {

// Under a policy that searches: every tensor that may be evicted is evicted right after use, or a policy of the
// literature that needs less. Under another policy: its own minimum. None of this depends on the budget, except that a
// deadline ends the search for less once something fits. `first`: what first_minimum() returned, if it was asked.
Result<Minimum> find_minimum(const Planning& planning, const Found& unlimited, std::optional<Found> first = {});

// The plan that find_minimum() begins with, under a policy that searches. It depends on no other plan, so it may be
// made at the same time as the unlimited one: on deep networks each takes a second.
Result<Found> first_minimum(const Planning& planning);

// Before: `minimum` does not fit.
Result<Remedies> find_remedies(const Planning& planning, const Found& minimum);

}  // namespace plimsoll
