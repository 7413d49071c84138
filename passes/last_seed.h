// The tensors and tasks of the plans of a task graph. Plans of one sub-batch share them.
#pragma once

#include <functional>
#include <mutex>

#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll {

// Keeps those of one sub-batch. Any thread may use it.
class LastSeed {
 public:
  // Calls `add`, which makes the lists of an empty plan, if they are those of another graph or sub-batch.
  void put(Plan& plan, const TaskGraph& graph, const std::function<void(Plan& empty)>& add) {
    const std::lock_guard lock(mutex_);
    if (graph_ != &graph || samples_ != plan.rank_samples()) {
      add(plan);
      graph_ = &graph;
      samples_ = plan.rank_samples();
      tensors_ = plan.tensors;
      tasks_ = plan.tasks;
    }
    plan.tensors = tensors_;
    plan.tasks = tasks_;
  }

 private:
  std::mutex mutex_;  // guards all below
  const TaskGraph* graph_ = nullptr;
  int64_t samples_ = 0;
  SharedIdVector<TensorId, PlanTensor> tensors_ = {};
  SharedIdVector<TaskId, PlanTask> tasks_ = {};
};

}  // namespace plimsoll
