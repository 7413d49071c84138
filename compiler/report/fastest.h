// What memory kept a plan from: the algorithms it would run if workspaces cost nothing.
#pragma once

#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"

namespace plimsoll {

// Fills PlanTask::fastest of every task whose steps run another algorithm than the fastest for the plan's sub-batch. As in
// planning, algorithms that are not deterministic count only where no other exists.
// Before: `plan` is a plan of `graph`, and costs are prepared for it at the plan's sub-batch.
void note_fastest(Plan& plan, const TaskGraph& graph, const Costs& costs);

}  // namespace plimsoll
