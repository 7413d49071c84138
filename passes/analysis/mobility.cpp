#include "passes/analysis/mobility.h"

#include "passes/analysis/access.h"

namespace plimsoll {

std::vector<bool> ends_soon(const Plan& plan) {
  std::vector<int32_t> tasks_before(plan.steps.size() + 1, 0);
  for (const StepId id : ids_of(plan.steps))
    tasks_before[static_cast<size_t>(id.value) + 1] =
        tasks_before[static_cast<size_t>(id.value)] + (plan.steps[id].kind == StepKind::compute ? 1 : 0);

  // The residencies of a tensor are in step order.
  IdVector<TensorId, std::vector<size_t>> residencies(plan.tensors.size());
  std::vector<int32_t> last_task(plan.residencies.size(), -1);
  for (size_t i = 0; i < plan.residencies.size(); ++i) residencies[plan.residencies[i].tensor].push_back(i);
  IdVector<TensorId, size_t> current(plan.tensors.size(), 0);
  for (const StepId id : ids_of(plan.steps)) {
    if (plan.steps[id].kind != StepKind::compute) continue;
    for_each_access(plan, plan.steps[id], [&](TensorId tensor, bool, bool) {
      const std::vector<size_t>& all = residencies[tensor];
      size_t& now = current[tensor];
      while (now + 1 < all.size() && plan.residencies[all[now + 1]].first_step <= id.value) ++now;
      if (!all.empty()) last_task[all[now]] = id.value;
    });
  }
  std::vector<bool> soon(plan.residencies.size(), false);
  for (size_t i = 0; i < plan.residencies.size(); ++i) {
    const Residency& residency = plan.residencies[i];
    if (residency.first_step < 0 || !plan.steps.contains(StepId(residency.last_step))) continue;
    const int32_t last = std::max(last_task[i], residency.first_step);
    soon[i] =
        tasks_before[static_cast<size_t>(last) + 1] - tasks_before[static_cast<size_t>(residency.first_step) + 1] <= 1;
  }
  return soon;
}

}  // namespace plimsoll
