// What:     Adds room for the next round's inputs behind everything else in the arena, if the budget has it and the
//           predicted time falls. A backend that copies inputs over a link then does so while a round computes. If the
//           link is what a round waits for, its own prefetches come first.
// Before:   the plan is complete. No step knows of these bytes.
// After:    plan.inputs_ahead, summary.arena_bytes with it, and the times of steps and summary with such copies; or the
//           plan is unchanged. summary.bound_seconds counts a round's first load in the same way.
// Why here: only bytes that the finished plan leaves free are taken, so no decision of the plan depends on it, and a
//           smaller budget loses it first. So a plan that leaves no room may be predicted to take longer than that of a
//           smaller budget which does, by at most the time of its loads.
#pragma once

#include "passes/context.h"

namespace plimsoll {

// The bytes of all inputs of a round, one after the other, each aligned.
int64_t bytes_of_inputs(const TaskGraph& graph, int64_t samples);

Status place_inputs_ahead(Plan& plan, const Context& context, int64_t budget_bytes);

}  // namespace plimsoll
