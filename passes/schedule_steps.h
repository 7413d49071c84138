#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     lets the policy decide what leaves the device, when it comes back, and what is recomputed
//           (Policy::schedule). Inserts offload, prefetch, load and recompute steps into the order.
// Before:   one compute step per task and one load per input, in an order that keeps everything resident (order).
// After:    steps are in issue order and complete. Every read finds its tensor resident: written, loaded or prefetched
//           since it was last evicted. A tensor is evicted where its next access is a write, a load or a prefetch.
// Why here: after the order, in which it looks for intervals between uses. Before liveness, which follows from the
//           steps.
Status schedule_steps(Plan& plan, const Context& context);

}  // namespace plimsoll
