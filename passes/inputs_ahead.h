// Room for the next round's inputs. A backend that copies inputs over a link then copies them while a round computes.
#pragma once

#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll {

// The bytes of all inputs of a round, one after the other, each aligned.
int64_t bytes_of_inputs(const TaskGraph& graph, int64_t samples);

// What:     reserves these bytes at the end of the arena, if the budget has room for them.
// Before:   the plan is complete. None of its steps accesses these bytes.
// After:    plan.inputs_ahead is set and summary.arena_bytes includes it, or the plan is unchanged.
// Why here: not in the pipeline; planner.cpp calls it last. It takes only bytes that the finished plan leaves free, so
//           no decision depends on it. The predicted time does not count the time that it saves.
void place_inputs_ahead(Plan& plan, const TaskGraph& graph, int64_t budget_bytes);

}  // namespace plimsoll
