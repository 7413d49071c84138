#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     copies the facts of the task graph into the plan, with bytes and flops for one sub-batch.
// Before:   the plan has batch and sub_batch; it has no tensors, tasks or steps.
// After:    tensors and tasks stand in the graph's order, their ids the same. They never change again.
// Why here: first, because a plan can be read with nothing else at hand, and so can every pass that follows.
Status seed_plan(Plan& plan, const Context& context);

}  // namespace plimsoll
