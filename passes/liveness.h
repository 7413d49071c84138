#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     gives every tensor its residencies: from the step that brings it into being (a write, a load, a prefetch)
//           to its last touch before the next such step.
// Before:   steps are in issue order.
// After:    every access falls in exactly one residency; offsets are 0. Persistent tensors, weights first among them,
//           reach from step -1 to the number of steps; so far reach the loss and the count of correct answers, too.
// Why here: after everything that inserts or moves steps; before the choice of algorithms, which fills the room that
//           tensors leave, and before placement.
Status liveness(Plan& plan, const Context& context);

}  // namespace plimsoll
