// The tensors and tasks that seed_plan writes. They depend only on the task graph and the sub-batch, and their names
// are most of a plan's bytes. So all plans of one sub-batch share one copy.
#pragma once

#include <mutex>

#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll {

// Caches the copy for one sub-batch, the last one requested. Any thread may use it.
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
