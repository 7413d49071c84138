// The budget of a request in bytes.
#pragma once

#include "passes/planning.h"

namespace plimsoll {

// What budgets in percent refer to: an unlimited arena of `samples` per round, with room for the next round's inputs if
// the request asks for it.
int64_t unlimited_bytes(const Planning& planning, const Found& unlimited, int64_t samples);

// Sets the budget in bytes, and the live limits within it. `unlimited`: the unlimited plan of the whole batch.
Status resolve_budget(Planning& planning, const Found& unlimited);
// The live limits within a budget that is set.
Status set_limits(Planning& planning, const Found& unlimited);

}  // namespace plimsoll
