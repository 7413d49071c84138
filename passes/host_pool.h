#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     assigns a slot in the host pool to every offloaded copy, from its offload to its last prefetch. A tensor
//           that resides in the host pool gets a slot for the whole run.
// Before:   steps are in issue order. It is decided which tensors reside in the host pool (schedule).
// After:    host offsets are multiples of 256. Slots in use at the same time do not overlap.
// Why here: after reduce, the last pass that adds steps. Before sync, which adds waits where slots are reused.
Status host_pool(Plan& plan, const Context& context);

}  // namespace plimsoll
