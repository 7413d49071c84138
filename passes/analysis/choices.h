// The ways of running each task that are worth choosing from, for one sub-batch: what the profile offers, less what
// is slower and no smaller than another.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll {

struct Choice {
  std::string algorithm = {};
  int64_t workspace_bytes = 0;  // the larger of both rounds'
  double seconds = 0;           // for a round of sub_batch samples
  double last_seconds = 0;      // for the last round
};

// Of each task: fastest first, never empty; each needs less workspace than every one before it.
struct Choices {
  IdVector<TaskId, std::vector<Choice>> first = {};
  IdVector<TaskId, std::vector<Choice>> again = {};  // of those that remember something: run again, they are other work

  Choices() = default;
  explicit Choices(size_t tasks, const std::vector<Choice>& each = {}) : first(tasks, each) {}
  const std::vector<Choice>& operator[](TaskId task) const { return first[task]; }
  const std::vector<Choice>& of(TaskId task, bool run_again) const {
    return run_again && again.contains(task) && !again[task].empty() ? again[task] : first[task];
  }
};

// Before: costs are prepared for `graph` at both numbers of samples. Algorithms that are not deterministic are left
// out where a deterministic one exists, unless the costs admit them. Error: environment, when no algorithm of a task serves both rounds.
Result<Choices> find_choices(const TaskGraph& graph, const Costs& costs, int64_t sub_batch, int64_t last_sub_batch);

}  // namespace plimsoll
