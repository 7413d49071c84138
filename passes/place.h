#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     gives every residency and every workspace its address. Persistent tensors lie at the bottom, in the
//           tensors' order. Above them the placement engine (passes/place/) packs the rest by lifetime. Residencies
//           that share bytes (in place) are one block.
// Before:   residencies and workspace sizes are known (liveness, conv_algorithm).
// After:    every offset is a multiple of 256. Blocks live at the same step overlap only where a task may work in
//           place. summary.arena_bytes and summary.persistent_bytes are set.
// Why here: after every size is known. Before sync, because reuse of bytes orders steps.
Status place(Plan& plan, const Context& context);

}  // namespace plimsoll
