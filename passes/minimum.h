// The minimum: the smallest plan that a request allows. A budget below it is infeasible; find_remedies() then finds
// what would work.
#pragma once

#include <optional>

#include "passes/planning.h"

namespace plimsoll {

// Under a policy that searches: the plan that evicts every tensor it may right after use, or the plan of a policy of
// the literature if that is smaller. Under another policy: its own minimum. The result does not depend on the budget,
// except under a deadline: it ends the search as soon as a plan fits. `first`: the result of first_minimum(), if it was
// called.
Result<Minimum> find_minimum(const Planning& planning, const Found& unlimited, std::optional<Found> first = {});

// The first plan that find_minimum() makes under a policy that searches. It depends on no other plan, so the planner
// makes it concurrently with the unlimited plan: on deep networks each takes a second.
Result<Found> first_minimum(const Planning& planning);

// Finds budgets and options that work. Before: `minimum` does not fit.
Result<Remedies> find_remedies(const Planning& planning, const Found& minimum);

}  // namespace plimsoll
