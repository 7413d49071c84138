// What a plan takes and needs at least, before it is known where its bytes lie.
#pragma once

#include "passes/context.h"

namespace plimsoll {

// Seconds of an iteration if steps waited for their data alone, and never for bytes that others still use.
// Before: steps, and the algorithm of each, are decided. Placement and sync only add waits, so the plan that comes of
// them takes no less.
double least_iteration_seconds(Plan plan, const Context& context);

// Bytes that are live at the peak, workspaces included: no placement is lower. Before: residencies are found, too.
int64_t least_arena_bytes(const Plan& plan, const Context& context);

}  // namespace plimsoll
