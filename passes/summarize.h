#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     fills the figures of the summary that the plan itself holds: live bytes and where their peak is, what is
//           moved and run again, what a framework without liveness would need.
// Before:   the plan is complete.
// After:    of the summary only minimum, unconstrained, ideal and planning are open; they compare plans, and are the
//           planner's.
// Why here: last, so that it describes what is emitted.
Status summarize(Plan& plan, const Context& context);

}  // namespace plimsoll
