// What: writes for each copy of a tensor that resides in the host pool which rounds of an iteration run it.
//
// Before: steps are in their final order, and it is known which tensors reside in the host pool. After: Step::rounds of
// every step is set. Rounds without updates copy only what their tasks access or what the next round needs.
//
// Why here: the answer follows from the order of tasks and copies, which no later pass changes, and all predictions of
// time need it. The code generator, the reports and the checker read it in the plan; none of them derives it again.
#pragma once

#include "passes/context.h"

namespace plimsoll {

Status copy_rounds(Plan& plan, const Context& context);

}  // namespace plimsoll
