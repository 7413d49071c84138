#include "passes/analysis/liveness.h"

#include <algorithm>
#include <numeric>

#include "compiler/support/bytes.h"
#include "passes/analysis/access.h"

namespace plimsoll {
namespace {

constexpr int32_t kNone = -1;

}  // namespace

std::vector<TensorId> kept_to_the_end(const TaskGraph& graph) {
  std::vector<TensorId> kept;
  for (const TensorId tensor : {graph.loss, graph.correct})
    if (tensor.valid()) kept.push_back(tensor);
  return kept;
}

std::vector<Residency> find_residencies(const Plan& plan, const std::vector<TensorId>& kept) {
  const int32_t steps = static_cast<int32_t>(plan.steps.size());
  std::vector<Residency> found;
  found.reserve(plan.tensors.size());
  IdVector<TensorId, int32_t> current(plan.tensors.size(), kNone);
  for (const TensorId tensor : ids_of(plan.tensors)) {
    if (!plan.tensors[tensor].persistent) continue;
    current[tensor] = static_cast<int32_t>(found.size());
    found.push_back({.tensor = tensor, .bytes = plan.tensors[tensor].bytes, .first_step = -1, .last_step = steps});
  }
  for (const StepId id : ids_of(plan.steps)) {
    for_each_access(plan, plan.steps[id], [&](TensorId tensor, bool reads, bool) {
      if (plan.tensors[tensor].persistent) return;
      if (!reads) {
        current[tensor] = static_cast<int32_t>(found.size());
        found.push_back({.tensor = tensor, .bytes = plan.tensors[tensor].bytes, .first_step = id.value});
      }
      PLIMSOLL_CHECK(current[tensor] != kNone, "tensor '" + plan.tensors[tensor].name + "' is read before it is there");
      found[static_cast<size_t>(current[tensor])].last_step = id.value;
    });
  }
  for (const TensorId tensor : kept)
    if (current[tensor] != kNone && !plan.tensors[tensor].persistent)
      found[static_cast<size_t>(current[tensor])].last_step = steps;
  return found;
}

std::vector<SharedPair> find_shared_pairs(const Plan& plan, const Policy& policy) {
  if (!policy.share_memory || !policy.in_place) return {};
  const std::vector<Residency>& all = plan.residencies;
  // A plan that was read from a file, or is complete, may have them in another order than that of their first steps.
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto begins_before = [&](size_t a, size_t b) { return all[a].first_step < all[b].first_step; };
  if (!std::is_sorted(order.begin(), order.end(), begins_before))
    std::stable_sort(order.begin(), order.end(), begins_before);
  IdVector<TensorId, int32_t> current(plan.tensors.size(), kNone);
  std::vector<bool> followed(all.size(), false), follows(all.size(), false);
  std::vector<SharedPair> pairs;
  size_t next = 0;
  for (const StepId id : ids_of(plan.steps)) {
    for (; next < order.size() && all[order[next]].first_step <= id.value; ++next)
      current[all[order[next]].tensor] = static_cast<int32_t>(order[next]);
    const Step& step = plan.steps[id];
    if (step.kind != StepKind::compute) continue;
    for (const Task::InPlace& pair : plan.tasks[step.task].in_place) {
      if (current[pair.read] == kNone || current[pair.written] == kNone) continue;
      const auto read = static_cast<size_t>(current[pair.read]), written = static_cast<size_t>(current[pair.written]);
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

}  // namespace plimsoll
