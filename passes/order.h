#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     decides the order of the tasks and where the input batch is loaded: one compute step per task, one load
//           step per input of the model.
// Before:   tensors and tasks exist (seed_plan); there are no steps.
// After:    steps are in issue order. Every access comes after the writes, updates and loads that it needs. Every
//           update of a weight comes after all its readers. With one round, an update comes as early as that allows, so
//           that the weight gradient can be freed. With several rounds, all updates come at the end of the round.
// Why here: before liveness, which follows from the order. Before the passes that offload or recompute tensors, which
//           look for intervals between uses in this order.
Status order(Plan& plan, const Context& context);

}  // namespace plimsoll
