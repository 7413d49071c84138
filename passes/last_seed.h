// The tensors and tasks of the plans of a task graph. Plans of one sub-batch share them.
#pragma once

#include <mutex>

#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll {

// Keeps those of one sub-batch. Any thread may use it.
class LastSeed {
 public:
  // Gives them to an empty plan. Makes them first if those kept are of another graph or sub-batch.
  void put(Plan& plan, const TaskGraph& graph);

 private:
  std::mutex mutex_;  // guards all below
  const TaskGraph* graph_ = nullptr;
  int64_t samples_ = 0;
  SharedIdVector<TensorId, PlanTensor> tensors_ = {};
  SharedIdVector<TaskId, PlanTask> tasks_ = {};
};

}  // namespace plimsoll
