#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     chooses the algorithm of each compute step, not only of convolutions: the fastest whose workspace fits,
//           together with the live tensors, under limit_of_algorithms(). If none fits, the one with the smallest
//           workspace.
// Before:   residencies are known (liveness).
// After:    every compute step has an algorithm and the bytes of its workspace.
// Why here: after liveness, which says how many bytes are free at each step. A workspace lives for one step only, so
//           the choices are independent of each other. Before place, which needs the sizes.
Status conv_algorithm(Plan& plan, const Context& context);

// The live bytes of each step without the workspaces of algorithms: tensors, and the workspace of reductions. Before:
// residencies are known, and no algorithm is chosen.
std::vector<int64_t> bytes_of_tensors(const Plan& plan, const Context& context);

// The limit in bytes under which this policy chooses workspaces (AlgorithmKind): the live limit, none, or 0 for the
// smallest ones.
int64_t limit_of_algorithms(const Policy& policy, int64_t live_limit);

}  // namespace plimsoll
