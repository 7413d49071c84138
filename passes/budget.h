// The budget of a request in bytes.
#pragma once

#include "passes/planning.h"

namespace plimsoll {

// What budgets in percent refer to: an unlimited arena of `samples` per round, with room for the next round's inputs if
// the request asks for it.
int64_t unlimited_bytes(const Planning& planning, const Found& unlimited, int64_t samples);

// The budget in bytes. `unlimited`: the unlimited plan of the whole batch.
Result<int64_t> find_budget(const Planning& planning, const Found& unlimited);
// Sets the live limits within a budget that is set.
Status set_limits(Planning& planning, const Found& unlimited);

}  // namespace plimsoll
