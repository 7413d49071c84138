#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     records the workspace that each chosen algorithm of each task needs, and the fastest algorithm of the task
//           if limited memory prevented it.
// Before:   algorithms are chosen (conv_algorithm).
// After:    Plan::needs has an entry for every task and algorithm that a step runs. Plan::fastest has one for every
//           task with a step that runs another algorithm.
// Why here: anywhere after conv_algorithm. The checker compares these bytes with the workspaces that the steps have.
//           The driver afterwards replaces the needs with those of the costs themselves (compiler/costs/needs.h), so
//           that a mistake in the passes cannot hide.
Status needs(Plan& plan, const Context& context);

}  // namespace plimsoll
