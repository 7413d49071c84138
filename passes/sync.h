#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     makes steps of different streams wait for each other wherever they touch the same bytes, of the arena or of
//           the host pool, and one of them writes: data that is not there yet, and bytes that are still in use.
// Before:   everything has its address. Waits that are there already are a policy's wish (a barrier) and stay.
// After:    every conflicting pair of accesses is ordered by stream order and waits, whatever any step's duration is.
// Why here: after placement, because reuse of bytes is a reason to wait. It says every wait; prune_waits drops those
//           that others imply.
Status sync(Plan& plan, const Context& context);

// What:     drops the waits that stream order and the remaining waits imply.
// Before:   the waits are complete (sync).
// After:    the same steps happen before the same steps, with the fewest waits: at most one per other stream.
// Why here: right after sync. Correct first, cheap second: each half is simple to state and to check.
Status prune_waits(Plan& plan, const Context& context);

}  // namespace plimsoll
