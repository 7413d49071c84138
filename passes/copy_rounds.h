#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     decides, for each copy of a tensor that resides in the host pool, which rounds of an iteration run it. The
//           copies of optimizer state, for example, run in the last round only.
// Before:   steps are in their final order, and it is decided which tensors reside in the host pool (schedule).
// After:    Step::rounds of every step is set. Rounds without updates copy only what their tasks access or what the
//           next round needs.
// Why here: the rounds follow from the order of tasks and copies, which no later pass changes. Every later prediction
//           of time needs them. The code generator, the reports and the checker read them from the plan.
Status copy_rounds(Plan& plan, const Context& context);

}  // namespace plimsoll
