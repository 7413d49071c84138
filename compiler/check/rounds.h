// The copies of tensors that reside in the host pool, round by round. Private to compiler/check/.
//
// plan.json states for each such copy which rounds run it (`rounds`). This part simulates the copies and tasks of the
// first round, of a round in the middle and of the last one, in issue order. It does not use the planner's rule for
// choosing the rounds. It reports three kinds of violations: a task finds a value that is not the current one; the host
// pool does not hold the right value when the round ends; or no task and no later round needs a copy.
//
// The order in which streams reach these values is checked elsewhere (residences.h, memory.cpp). It is the same in
// every round, because the waits of a step that a round leaves out stay at their places.
#pragma once

#include "compiler/check/verdict.h"

namespace plimsoll {

void check_rounds_of_copies(const Plan& plan, Verdict& verdict);

// How many rounds of an iteration run a copy.
int64_t rounds_with(CopyRounds copy, int64_t rounds);

}  // namespace plimsoll
