#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     assigns an address to every residency and every workspace. Persistent tensors lie at the bottom, in the
//           tensors' order. Above them passes/place/ packs the rest by lifetime, as Policy::place says. Residencies
//           that share bytes (in place) are one block.
// Before:   residencies and workspace sizes are known (liveness, conv_algorithm).
// After:    every offset is a multiple of 256. Blocks live at the same step overlap only where a task may work in
//           place. summary.arena_bytes and summary.persistent_bytes are set.
// Why here: after every size and lifetime is known. Before sync, which adds waits where bytes are reused.
Status place(Plan& plan, const Context& context);

}  // namespace plimsoll
