#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     decides the order of the tasks and where the input batch is loaded: one compute step per task, one load
//           step per input of the model.
// Before:   tensors and tasks exist (seed_plan); there are no steps.
// After:    steps are in issue order. Every access comes after the writes, updates and loads that it needs. Every
//           update of a weight comes after all its readers. With one round, updates come early, so that the weight
//           gradients can be freed; with several ranks, late enough for their reductions. With several rounds, all
//           updates come at the end of the round.
// Why here: before schedule, which offloads and recomputes tensors in the intervals between their uses in this order,
//           and before liveness, which follows from the order.
Status order(Plan& plan, const Context& context);

}  // namespace plimsoll
