#pragma once

#include <mutex>

#include "passes/context.h"

namespace plimsoll {

// What:     copies the tensors and tasks of the task graph into the plan, with bytes and flops for one sub-batch.
// Before:   the plan has batch and sub_batch; it has no tensors, tasks or steps.
// After:    tensors and tasks are in the graph's order, with the same ids. Later passes change only where a tensor
//           resides (PlanTensor::persistent and home_offset).
// Why here: first. All other passes refer to these tensors and tasks, and a plan can be read without its task graph.
Status seed_plan(Plan& plan, const Context& context);

// Caches the tensors and tasks that seed_plan() writes for one sub-batch, the last one requested. They depend only on
// the task graph and the sub-batch, and their names are most of a plan's bytes. So all plans of one sub-batch share one
// copy. Any thread may use it.
class LastSeed {
 public:
  // Sets the tensors and tasks of an empty plan. Makes them first if the cached ones are of another graph or sub-batch.
  void put(Plan& plan, const TaskGraph& graph);

 private:
  std::mutex mutex_;  // guards all below
  const TaskGraph* graph_ = nullptr;
  int64_t samples_ = 0;
  SharedIdVector<TensorId, PlanTensor> tensors_ = {};
  SharedIdVector<TaskId, PlanTask> tasks_ = {};
};

}  // namespace plimsoll
