// What: states in each task the workspace that each algorithm needs with which a step runs it.
//
// Before: algorithms are chosen. After: PlanTask::needs of every task that a step runs.
//
// Why here: the algorithms are final. The statement is a fact about a task, independent of the workspace that a step
// gets, so that the checker can compare the two. The driver states it once more from the costs themselves
// (compiler/costs/needs.h), independent of what the passes have made of them.
#pragma once

#include "passes/context.h"

namespace plimsoll {

Status needs(Plan& plan, const Context& context);

}  // namespace plimsoll
