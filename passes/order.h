#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     decides the order of the tasks and where the input batch is loaded: one compute step per task, one load
//           step per input of the model.
// Before:   tensors and tasks are there (seed_plan); there are no steps.
// After:    steps are in issue order; every access comes after the writes, updates and loads that it needs, every
//           update of a weight after all readers of the weight. With one round an update stands as early as that
//           allows, so that the weight gradient dies; with several, all updates stand at the end of the round.
// Why here: before liveness, which is a consequence of the order; before anything that moves or drops tensors, which
//           looks for gaps between uses in this order.
Status order(Plan& plan, const Context& context);

}  // namespace plimsoll
