#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     copies the facts of the task graph into the plan, with bytes and flops for one sub-batch.
// Before:   the plan has batch and sub_batch; it has no tensors, tasks or steps.
// After:    tensors and tasks are in the graph's order, with the same ids. They never change again.
// Why here: first, so that a plan can be read by itself and every later pass needs the plan only.
Status seed_plan(Plan& plan, const Context& context);

}  // namespace plimsoll
