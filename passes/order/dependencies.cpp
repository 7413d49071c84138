#include "passes/order/orders.h"

#include <algorithm>
#include <utility>

namespace plimsoll::task_orders {

Dependencies find_dependencies(const Plan& plan) {
  std::vector<std::pair<TaskId, TaskId>> found;
  IdVector<TaskId, int32_t> open(plan.tasks.size(), 0);
  IdVector<TensorId, TaskId> changer(plan.tensors.size());
  // The readers of each tensor since its last change, the latest first.
  struct Reader {
    TaskId task;
    int32_t before;  // position in `readers`; -1: none
  };
  std::vector<Reader> readers;
  IdVector<TensorId, int32_t> latest(plan.tensors.size(), -1);
  const auto add = [&](TaskId before, TaskId after) {
    if (!before.valid() || before == after) return;
    found.emplace_back(before, after);
    ++open[after];
  };
  for (const TaskId id : ids_of(plan.tasks)) {
    const PlanTask& task = plan.tasks[id];
    for (const TensorId tensor : task.reads) {
      add(changer[tensor], id);
      readers.push_back({id, std::exchange(latest[tensor], static_cast<int32_t>(readers.size()))});
    }
    for (const std::vector<TensorId>* changed : {&task.updates, &task.writes})
      for (const TensorId changed_tensor : *changed) {
        const TensorId whole = plan.tensors[changed_tensor].slice_of, tensor = whole.valid() ? whole : changed_tensor;
        add(changer[tensor], id);
        for (int32_t reader = std::exchange(latest[tensor], -1); reader >= 0;
             reader = readers[static_cast<size_t>(reader)].before)
          add(readers[static_cast<size_t>(reader)].task, id);
        changer[tensor] = id;
      }
  }
  return {.after = Grouped<TaskId, TaskId>(plan.tasks.size(), found), .open = std::move(open)};
}

std::vector<TaskId> updates_last(const Plan& plan, std::vector<TaskId> tasks) {
  std::stable_partition(tasks.begin(), tasks.end(), [&](TaskId task) { return !is_update(plan, task); });
  return tasks;
}

}  // namespace plimsoll::task_orders
