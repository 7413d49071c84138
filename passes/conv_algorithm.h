#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     chooses each compute step's algorithm: the fastest whose workspace fits beside the tensors that are live
//           during the step, under context.live_limit; where none does, the one with the smallest workspace.
// Before:   residencies are known (liveness).
// After:    every compute step has an algorithm and the bytes of its workspace.
// Why here: workspaces live for one step only, so each choice depends on the tensors and on no other choice; before
//           placement, which needs the sizes.
Status conv_algorithm(Plan& plan, const Context& context);

// What the workspaces of the policy's tasks have to fit under.
int64_t limit_of_algorithms(const Policy& policy, int64_t live_limit);

}  // namespace plimsoll
