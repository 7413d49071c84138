#include "passes/order/orders.h"

#include <algorithm>

namespace plimsoll::task_orders {

Dependencies find_dependencies(const Plan& plan) {
  Dependencies found{IdVector<TaskId, std::vector<TaskId>>(plan.tasks.size()),
                     IdVector<TaskId, int32_t>(plan.tasks.size(), 0)};
  IdVector<TensorId, TaskId> changer(plan.tensors.size());
  IdVector<TensorId, std::vector<TaskId>> readers(plan.tensors.size());
  const auto add = [&](TaskId before, TaskId after) {
    if (!before.valid() || before == after) return;
    found.after[before].push_back(after);
    ++found.open[after];
  };
  for (const TaskId id : ids_of(plan.tasks)) {
    const PlanTask& task = plan.tasks[id];
    for (const TensorId tensor : task.reads) {
      add(changer[tensor], id);
      readers[tensor].push_back(id);
    }
    for (const std::vector<TensorId>* changed : {&task.updates, &task.writes})
      for (const TensorId changed_tensor : *changed) {
        const TensorId whole = plan.tensors[changed_tensor].slice_of, tensor = whole.valid() ? whole : changed_tensor;
        add(changer[tensor], id);
        for (const TaskId reader : readers[tensor]) add(reader, id);
        readers[tensor].clear();
        changer[tensor] = id;
      }
  }
  return found;
}

std::vector<TaskId> updates_last(const Plan& plan, std::vector<TaskId> tasks) {
  std::stable_partition(tasks.begin(), tasks.end(), [&](TaskId task) { return !is_update(plan, task); });
  return tasks;
}

}  // namespace plimsoll::task_orders
