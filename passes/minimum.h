// The smallest plan that a request allows. A budget below it is infeasible; this also finds what would work instead.
#pragma once

#include "passes/planning.h"

namespace plimsoll {

// Under a policy that searches: every tensor that may be evicted is evicted right after use, or a policy of the
// literature that needs less. Under another policy: its own minimum. None of this depends on the budget, except that a
// deadline ends the search for less once something fits.
Result<Minimum> find_minimum(const Planning& planning, const Found& unlimited);

// Before: `minimum` does not fit.
Result<Remedies> find_remedies(const Planning& planning, const Found& minimum);

}  // namespace plimsoll
