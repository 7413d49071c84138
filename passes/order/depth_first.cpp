#include "passes/order/orders.h"

#include <algorithm>

namespace plimsoll::task_orders {

std::vector<TaskId> depth_first(const Plan& plan, const TaskGraph& /*graph*/, const Dependencies& dependencies) {
  if (plan.rounds > 1) return ids_of(plan.tasks);
  IdVector<TaskId, TaskId> latest(plan.tasks.size());
  for (const TaskId id : ids_of(plan.tasks))
    for (const TaskId after : dependencies.after[id]) latest[after] = std::max(latest[after], id);
  // An update may depend on another update (of state shared by two weights), so the chain is followed.
  IdVector<TaskId, std::vector<TaskId>> follow(plan.tasks.size());
  std::vector<TaskId> tasks;
  tasks.reserve(plan.tasks.size());
  std::vector<TaskId> without_reason;
  for (const TaskId id : ids_of(plan.tasks))
    if (is_update(plan, id)) (latest[id].valid() ? follow[latest[id]] : without_reason).push_back(id);
  std::vector<TaskId> stack;
  const auto emit = [&](TaskId first) {
    stack.push_back(first);
    while (!stack.empty()) {
      const TaskId id = stack.back();
      stack.pop_back();
      tasks.push_back(id);
      stack.insert(stack.end(), follow[id].rbegin(), follow[id].rend());
    }
  };
  for (const TaskId id : without_reason) emit(id);
  for (const TaskId id : ids_of(plan.tasks))
    if (!is_update(plan, id)) emit(id);
  return tasks;
}

}  // namespace plimsoll::task_orders
