#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     fills the summary figures that the plan itself determines: live bytes and where their peak is, bytes
//           transferred, time recomputed, and the memory that a framework without liveness analysis would need.
// Before:   the plan is complete.
// After:    only minimum, unconstrained, ideal and planning are open. They compare plans; the planner fills them.
// Why here: last, so that it describes what is emitted.
Status summarize(Plan& plan, const Context& context);

}  // namespace plimsoll
