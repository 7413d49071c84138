#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     predicts when each step runs, from the costs of the chosen algorithms and the speed of copies.
// Before:   waits are complete (sync).
// After:    start and end of each step are those of a full round; summary.iteration_seconds, stall_seconds,
//           recompute_seconds and reduce_seconds cover all rounds and the updates.
// Why here: near the end, because waits decide the times; nothing may depend on its answer for safety.
Status simulate(Plan& plan, const Context& context);

}  // namespace plimsoll
