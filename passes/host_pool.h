#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     gives every offloaded copy its slot in the host pool, from its offload to its last prefetch; and what
//           has its home there a slot for the whole run.
// Before:   steps are in issue order.
// After:    host offsets are multiples of 256; copies that are needed at the same time do not overlap.
// Why here: anywhere between liveness and sync: slots that are used again are a reason to wait, as addresses are.
Status host_pool(Plan& plan, const Context& context);

}  // namespace plimsoll
