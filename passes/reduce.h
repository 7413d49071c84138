#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     of plans for several ranks: puts a reduction behind the task that completes its bucket, on the comm stream; the
//           results of the loss are a bucket, the gradients are several (analysis/buckets.h).
// Before:   the tasks are in their final order, updates far enough behind for reductions to run beside the backward (order).
// After:    every gradient is the sum over all ranks before an update touches it, and so is the loss that is reported.
//           Reductions have the bytes of their workspace. A plan for one rank is as it was.
// Why here: behind the policies, which move copies about and know nothing of ranks; before liveness, which follows from the
//           steps.
Status reduce(Plan& plan, const Context& context);

}  // namespace plimsoll
