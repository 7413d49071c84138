#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     finds the residencies of every tensor. A residency begins at the step that creates the tensor on the device
//           (a write, a load, a prefetch) and ends at the last access before the next such step.
// Before:   steps are in issue order.
// After:    every access falls in exactly one residency. They are in issue order of their first steps; offsets are 0.
//           Persistent tensors, such as weights, live from step -1 to the number of steps. The loss and the count of
//           correct answers live to the end, too.
// Why here: after every pass that inserts or moves steps. Before conv_algorithm, which gives the bytes that tensors
//           leave free to workspaces, and before place.
Status liveness(Plan& plan, const Context& context);

}  // namespace plimsoll
