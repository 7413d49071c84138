#include "passes/order/orders.h"

#include <algorithm>

namespace plimsoll::task_orders {

std::vector<TaskId> large_weights_at_once(const Plan& plan, const Dependencies& dependencies,
                                          std::vector<TaskId> tasks) {
  constexpr int64_t kLittle = 32;  // the activations take at most 1/32 of the gradient
  IdVector<TaskId, size_t> place(plan.tasks.size(), 0);
  for (size_t i = 0; i < tasks.size(); ++i) place[tasks[i]] = i;
  // True if it depends on no task at `from` or later in the current order.
  const auto may_come_at = [&](TaskId task, size_t from) {
    for (size_t i = from; i < place[task]; ++i)
      if (std::ranges::count(dependencies.after[tasks[i]], task) > 0) return false;
    return true;
  };
  // Bytes accessed by a task: of its weight gradients, or of everything except weights and gradients.
  const auto bytes = [&](TaskId id, bool gradients) {
    int64_t sum = 0;
    for (const auto* touched : {&plan.tasks[id].reads, &plan.tasks[id].updates, &plan.tasks[id].writes})
      for (const TensorId tensor : *touched) {
        const TensorKind kind = plan.tensors[tensor].kind;
        if (gradients ? kind == TensorKind::weight_gradient
                      : kind != TensorKind::weight_gradient && kind != TensorKind::weight)
          sum += plan.tensors[tensor].bytes;
      }
    return sum;
  };
  for (const TaskId weights : ids_of(plan.tasks)) {
    if (plan.tasks[weights].kind != TaskKind::backward_weights) continue;
    const int64_t gradient = bytes(weights, true);
    if (gradient == 0) continue;
    for (size_t next = place[weights] + 1;
         next < tasks.size() && plan.tasks[tasks[next]].layer == plan.tasks[weights].layer; ++next) {
      const TaskId data = tasks[next];
      if (plan.tasks[data].kind != TaskKind::backward_data || !may_come_at(data, place[weights])) continue;
      if (kLittle * (bytes(weights, false) + bytes(data, false)) > gradient) break;
      const auto begin = tasks.begin() + static_cast<std::ptrdiff_t>(place[weights]),
                 end = tasks.begin() + static_cast<std::ptrdiff_t>(next);
      std::rotate(begin, end, end + 1);
      for (size_t i = place[weights]; i <= next; ++i) place[tasks[i]] = i;
      break;
    }
  }
  return tasks;
}

}  // namespace plimsoll::task_orders
