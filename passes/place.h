#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     gives every residency and every workspace its address. Persistent tensors lie at the bottom, in the
//           tensors' order; above them the placement engine (passes/place/) packs the rest by their lifetimes.
//           Residencies that share bytes (in place) are one block.
// Before:   residencies and workspace sizes are known (liveness, conv_algorithm).
// After:    every offset is a multiple of 256; what is live at the same step overlaps only where a task may work in
//           place; summary.arena_bytes and summary.persistent_bytes are set.
// Why here: after everything that has a size is there; before sync, since bytes that are used again order steps.
Status place(Plan& plan, const Context& context);

}  // namespace plimsoll
