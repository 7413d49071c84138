#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     gives every offloaded copy a slot in the host pool, from its offload to its last prefetch. A tensor whose
//           residence is the host pool gets a slot for the whole run.
// Before:   steps are in issue order.
// After:    host offsets are multiples of 256. Slots in use at the same time do not overlap.
// Why here: anywhere between liveness and sync. Reuse of a slot is a reason to wait, like reuse of an address.
Status host_pool(Plan& plan, const Context& context);

}  // namespace plimsoll
