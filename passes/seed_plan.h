#pragma once

#include "passes/context.h"

namespace plimsoll {

// What:     copies the tensors and tasks of the task graph into the plan, with bytes and flops for one sub-batch.
// Before:   the plan has batch and sub_batch; it has no tensors, tasks or steps.
// After:    tensors and tasks are in the graph's order, with the same ids. Later passes change only where a tensor
//           resides (PlanTensor::persistent and home_offset).
// Why here: first. All other passes refer to these tensors and tasks, and a plan can be read without its task graph.
Status seed_plan(Plan& plan, const Context& context);

}  // namespace plimsoll
