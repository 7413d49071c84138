// What the plan's algorithms need, from where costs come from: what the checker holds the plan's workspaces against.
#pragma once

#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"

namespace plimsoll {

// Fills PlanTask::needs of every task that a step runs, and Plan::reduction_needs_bytes. Nothing is taken from the workspaces that the
// plan has, so that the one can be held against the other. An algorithm that the costs do not know is not listed.
// Before: `plan` is a plan of `graph`, and costs are prepared for it at both of the plan's numbers of samples.
void note_needs(Plan& plan, const TaskGraph& graph, const Costs& costs);

}  // namespace plimsoll
