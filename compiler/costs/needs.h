// The workspaces that a plan's algorithms need, according to the costs. The checker compares the plan's workspaces with
// them.
#pragma once

#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"

namespace plimsoll {

// Fills Plan::needs of every task that a step runs, and Plan::reduction_needs_bytes. They are independent of the
// workspaces in the plan, so that the two can be compared. Algorithms unknown to the costs are omitted. Before: `plan`
// is a plan of `graph`, and costs are prepared for it at both of the plan's numbers of samples.
void note_needs(Plan& plan, const TaskGraph& graph, const Costs& costs);

}  // namespace plimsoll
