// The algorithms that a plan may choose from, per task, for one sub-batch: those of the costs that no other algorithm
// beats in both time and workspace.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll {

struct Choice {
  std::string algorithm = {};
  int64_t workspace_bytes = 0;  // the maximum of both rounds' workspaces
  double seconds = 0;           // of a round of sub_batch samples
  double last_seconds = 0;      // of the last round
};

// Per task: fastest first, never empty. Each needs less workspace than all before it.
struct Choices {
  IdVector<TaskId, std::vector<Choice>> first = {};
  // Of the recomputation of tasks that save results in their first run, because it does less work. Empty: as `first`.
  IdVector<TaskId, std::vector<Choice>> again = {};

  Choices() = default;
  explicit Choices(size_t tasks, const std::vector<Choice>& each = {}) : first(tasks, each) {}
  const std::vector<Choice>& operator[](TaskId task) const { return first[task]; }
  const std::vector<Choice>& of(TaskId task, bool run_again) const {
    return run_again && again.contains(task) && !again[task].empty() ? again[task] : first[task];
  }
  // The one that a step has chosen. Null: no algorithm of the task has this name.
  const Choice* find(TaskId task, bool run_again, std::string_view algorithm) const {
    const auto found = std::ranges::find(of(task, run_again), algorithm, &Choice::algorithm);
    return found == of(task, run_again).end() ? nullptr : &*found;
  }
};

// The fastest of these algorithms whose workspace fits, or the one with the smallest workspace: the first that fits, or
// the last.
template <class Algorithms, class Fits>
const auto& fastest_that_fits(const Algorithms& algorithms, Fits fits) {
  const auto found = std::ranges::find_if(algorithms, fits);
  return found == algorithms.end() ? algorithms.back() : *found;
}

// Before: costs are prepared for `graph` at both numbers of samples. Nondeterministic algorithms are dropped where a
// deterministic one exists, unless the costs admit them. Error: environment, if no algorithm of a task serves both
// rounds.
Result<Choices> find_choices(const TaskGraph& graph, const Costs& costs, int64_t sub_batch, int64_t last_sub_batch);

}  // namespace plimsoll
