// The algorithms that a plan would choose if workspaces cost nothing: what limited memory prevented.
#pragma once

#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"

namespace plimsoll {

// Sets PlanTask::fastest for every task whose steps use another algorithm than the fastest for the plan's sub-batch. As
// in planning, nondeterministic algorithms count only if no other exists. Before: `plan` is a plan of `graph`, and
// costs are prepared for it at the plan's sub-batch.
void note_fastest(Plan& plan, const TaskGraph& graph, const Costs& costs);

}  // namespace plimsoll
