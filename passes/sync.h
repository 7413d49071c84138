#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     adds a wait between steps of different streams that access the same bytes of the arena or the host pool, if
//           one of them writes. This covers data that is not there yet and bytes still in use.
// Before:   everything has its address. Waits that exist already come from a policy (a barrier) and stay.
// After:    every conflicting pair of accesses is ordered by stream order and waits, whatever the duration of any step.
// Why here: after placement, because reuse of bytes is a reason to wait. It adds every wait; prune_waits drops the
//           redundant ones.
Status sync(Plan& plan, const Context& context);

// What:     drops waits implied by stream order and the remaining waits.
// Before:   the waits are complete (sync).
// After:    the happens-before relation is unchanged, with the fewest waits: at most one per other stream.
// Why here: right after sync. Correct first, cheap second: each half is simple to state and to check.
Status prune_waits(Plan& plan, const Context& context);

}  // namespace plimsoll
