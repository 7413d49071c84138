// What:     Adds room for the next round's inputs behind everything else in the arena, if the budget has it. A backend
//           that copies inputs over a link then does so while a round computes.
// Before:   the plan is complete. No step knows of these bytes.
// After:    plan.inputs_ahead, and summary.arena_bytes with it; or the plan is unchanged.
// Why here: only bytes that the finished plan leaves free are taken, so no decision of the plan depends on it, and a
//           smaller budget loses it first. The predicted time does not count what it saves.
#pragma once

#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll {

// The bytes of all inputs of a round, one after the other, each aligned.
int64_t bytes_of_inputs(const TaskGraph& graph, int64_t samples);

void place_inputs_ahead(Plan& plan, int64_t budget_bytes);

}  // namespace plimsoll
