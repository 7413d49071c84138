#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     predicts when each step runs, from the costs of the chosen algorithms and the speed of copies.
// Before:   waits are complete (sync).
// After:    the start and end of each step are those of a full round. summary.iteration_seconds, stall_seconds,
//           recompute_seconds and reduce_seconds cover all rounds and the updates.
// Why here: after prune_waits, because waits determine the times. No other pass reads the predicted times, because
//           safety must not depend on them.
Status simulate(Plan& plan, const Context& context);

}  // namespace plimsoll
