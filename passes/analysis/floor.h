// Lower bounds on the time and memory of a plan, before addresses are known.
#pragma once

#include "passes/context.h"

namespace plimsoll {

// Seconds of an iteration in which steps wait only for their data, never for the reuse of bytes. Before: the steps and
// the algorithm of each are decided. Placement and sync only add waits, so the finished plan takes at least this long.
// The plan is changed meanwhile; afterwards it is as before.
double least_iteration_seconds(Plan& plan, const Context& context);

// Bytes live at the peak, workspaces included: a lower bound for any placement. Before: residencies are known, too.
int64_t least_arena_bytes(const Plan& plan, const Context& context);

}  // namespace plimsoll
