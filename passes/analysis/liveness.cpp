#include "passes/analysis/liveness.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "compiler/support/bytes.h"
#include "passes/analysis/access.h"

namespace plimsoll {

std::vector<TensorId> kept_to_the_end(const TaskGraph& graph) {
  std::vector<TensorId> kept;
  for (const TensorId tensor : {graph.loss, graph.correct})
    if (tensor.valid()) kept.push_back(tensor);
  return kept;
}

// A plan that was read from a file, or is complete, may have its residencies in another order than that of their first
// steps.
ResidencyCursor::ResidencyCursor(const Plan& plan)
    : all_(plan.residencies),
      order_(all_.size()),
      now_(plan.tensors.size(), kNone),
      before_(plan.tensors.size(), kNone) {
  std::iota(order_.begin(), order_.end(), size_t{0});
  const auto begins_before = [&](size_t a, size_t b) { return all_[a].first_step < all_[b].first_step; };
  if (!std::ranges::is_sorted(order_, begins_before)) std::ranges::stable_sort(order_, begins_before);
}

void ResidencyCursor::move_to(StepId step) {
  for (; next_ < order_.size() && all_[order_[next_]].first_step <= step.value; ++next_) {
    const TensorId tensor = all_[order_[next_]].tensor;
    before_[tensor] = std::exchange(now_[tensor], order_[next_]);
  }
}

std::vector<bool> ends_soon(const Plan& plan) {
  ResidencyCursor residencies(plan);
  std::vector<int32_t> tasks_before(plan.steps.size() + 1, 0);
  std::vector<int32_t> last_task(plan.residencies.size(), -1);
  for (const StepId id : ids_of(plan.steps)) {
    const bool task = plan.steps[id].kind == StepKind::compute;
    tasks_before[static_cast<size_t>(id.value) + 1] = tasks_before[static_cast<size_t>(id.value)] + (task ? 1 : 0);
    residencies.move_to(id);
    if (!task) continue;
    for_each_access(plan, plan.steps[id],
                    [&](TensorId tensor, bool, bool) { last_task[residencies.now(tensor)] = id.value; });
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

std::vector<SharedPair> find_shared_pairs(const Plan& plan, const Policy& policy) {
  if (!policy.share_memory || !policy.in_place) return {};
  const std::vector<Residency>& all = plan.residencies;
  ResidencyCursor residencies(plan);
  std::vector<bool> followed(all.size(), false), follows(all.size(), false);
  std::vector<SharedPair> pairs;
  for (const StepId id : ids_of(plan.steps)) {
    residencies.move_to(id);
    const Step& step = plan.steps[id];
    if (step.kind != StepKind::compute) continue;
    for (const Task::InPlace& pair : plan.tasks[step.task].in_place) {
      const size_t read = residencies.now(pair.read), written = residencies.now(pair.written);
      if (read == ResidencyCursor::kNone || written == ResidencyCursor::kNone) continue;
      if (all[read].last_step != id.value || all[written].first_step != id.value) continue;
      if (followed[read] || follows[written] || !may_take_over(all[read].bytes, all[written].bytes)) continue;
      followed[read] = follows[written] = true;
      pairs.push_back({read, written, id.value});
    }
  }
  return pairs;
}

std::vector<int64_t> live_bytes(const Plan& plan, const Policy& policy, bool aligned) {
  const auto size = [&](int64_t bytes) { return aligned ? align_up(bytes) : bytes; };
  const size_t steps = plan.steps.size();
  std::vector<int64_t> live(steps + 1, 0);
  for (const Residency& residency : plan.residencies) {
    live[static_cast<size_t>(std::max(residency.first_step, 0))] += size(residency.bytes);
    live[std::min(static_cast<size_t>(residency.last_step) + 1, steps)] -= size(residency.bytes);
  }
  for (size_t i = 1; i <= steps; ++i) live[i] += live[i - 1];
  live.resize(steps);
  for (const SharedPair& pair : find_shared_pairs(plan, policy))
    live[static_cast<size_t>(pair.step)] -= size(plan.residencies[pair.written].bytes);
  for (const StepId id : ids_of(plan.steps))
    live[static_cast<size_t>(id.value)] += size(plan.steps[id].workspace.bytes);
  return live;
}

int64_t least_arena_bytes(const Plan& plan, const Context& context) {
  const std::vector<int64_t> live = live_bytes(plan, context.policy, true);
  return live.empty() ? 0 : std::ranges::max(live);
}

}  // namespace plimsoll
