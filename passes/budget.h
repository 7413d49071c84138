// The budget of a request in bytes.
#pragma once

#include "passes/planning.h"

namespace plimsoll {

// The bytes that a budget of 100 % means: the arena of the unlimited plan with rounds of `samples`, plus room for the
// next round's inputs if the request has PlanRequest::inputs_ahead.
int64_t unlimited_bytes(const Planning& planning, const Found& unlimited, int64_t samples);

// The budget in bytes, or kNoLimit. `unlimited`: the unlimited plan of the whole batch.
Result<int64_t> find_budget(const Planning& planning, const Found& unlimited);
// Sets planning.limits. Before: planning.budget_bytes is set.
Status set_limits(Planning& planning, const Found& unlimited);

}  // namespace plimsoll
