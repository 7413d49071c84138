#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     in plans of several ranks, inserts the reduction of each bucket on the comm stream, after the task that
//           completes the bucket. The results of the loss are one bucket; the gradients are several
//           (analysis/buckets.h).
// Before:   the tasks are in their final order, with updates late enough for reductions to overlap the backward
//           (order).
// After:    every gradient is summed over all ranks before an update reads it, and so is the reported loss. Reductions
//           have the bytes of their workspace. A plan for one rank is unchanged.
// Why here: after schedule, because policies move copies without regard to ranks. Before liveness, which follows from
//           the steps.
Status reduce(Plan& plan, const Context& context);

}  // namespace plimsoll
