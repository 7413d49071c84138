#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     chooses the algorithm of each compute step: the fastest whose workspace fits, together with the live
//           tensors, under context.live_limit. If none fits, the one with the smallest workspace.
// Before:   residencies are known (liveness).
// After:    every compute step has an algorithm and the bytes of its workspace.
// Why here: a workspace lives for one step only, so each choice depends on the tensors and on no other choice.
//           Placement needs the sizes, so it comes later.
Status conv_algorithm(Plan& plan, const Context& context);

// The limit in bytes that workspaces of this policy are chosen under.
int64_t limit_of_algorithms(const Policy& policy, int64_t live_limit);

}  // namespace plimsoll
