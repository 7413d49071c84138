#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     records the workspace that each chosen algorithm of each task needs.
// Before:   algorithms are chosen (conv_algorithm).
// After:    Plan::needs has an entry for every task and algorithm that a step runs.
// Why here: anywhere after conv_algorithm. The checker compares these bytes with the workspaces that the steps have.
//           The driver afterwards replaces them with those of the costs themselves (compiler/costs/needs.h), so that a
//           mistake in the passes cannot hide.
Status needs(Plan& plan, const Context& context);

}  // namespace plimsoll
