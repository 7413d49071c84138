#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     computes the figures of the summary that follow from steps and residencies: live bytes and their peak,
//           bytes of the host pool, bytes transferred and reduced, the number of recomputed tasks, and the bytes that
//           the network takes if no tensors share memory. The times are those of simulate.
// Before:   steps, addresses and slots are final.
// After:    what remains are the figures that compare the plan with others (minimum, unconstrained, ideal, bound, more)
//           and the planning time. The planner and the driver fill them in.
// Why here: after every pass that changes steps, addresses or slots, so that it describes the plan that is emitted.
Status summarize(Plan& plan, const Context& context);

}  // namespace plimsoll
