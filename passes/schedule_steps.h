#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     the policy, or the search, decides which tensors leave the device, when they come back, and which are
//           recomputed (Policy::schedule, Policy::decided). Inserts offload, prefetch, load and recompute steps into
//           the order. Weights and state that are copied reside in the host pool from here on.
// Before:   one compute step per task and one load per input, in an order that keeps everything resident (order).
// After:    steps are in issue order and complete. Every read finds its tensor resident: written, loaded or prefetched
//           since it was last evicted. A tensor counts as evicted after the last access before a write, a load or a
//           prefetch of it.
// Why here: after order, which determines the intervals between uses. Before liveness, which follows from the steps.
Status schedule_steps(Plan& plan, const Context& context);

}  // namespace plimsoll
