#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     adds a wait between steps of different streams that access the same bytes of the arena or the host pool, if
//           one of them writes. So a step neither reads data that is not there yet nor overwrites data still in use.
// Before:   all tensors, workspaces and slots have addresses. Waits that exist come from a policy (a barrier) and stay.
// After:    every conflicting pair of accesses is ordered by stream order and waits, whatever the duration of any step.
// Why here: after place and host_pool, because steps wait where bytes are reused. It adds every wait; prune_waits drops
//           the redundant ones.
Status sync(Plan& plan, const Context& context);

// What:     drops waits implied by stream order and the remaining waits.
// Before:   the waits are complete (sync).
// After:    the happens-before relation is unchanged, with the fewest waits: at most one per other stream.
// Why here: right after sync. Two passes, one for correctness and one for speed, are each simple to state and to check.
Status prune_waits(Plan& plan, const Context& context);

}  // namespace plimsoll
