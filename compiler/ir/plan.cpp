#include "compiler/ir/plan.h"

#include <algorithm>

namespace plimsoll {

std::vector<TensorId> PlanTask::written(bool again) const {
  std::vector<TensorId> list = writes;
  if (again) std::erase_if(list, [&](TensorId tensor) { return std::find(remembers.begin(), remembers.end(), tensor) != remembers.end(); });
  return list;
}

const WorkspaceNeed* Plan::need_of(const Step& step) const {
  const PlanTask& task = tasks[step.task];
  const bool again = step.recompute && !task.remembers.empty();
  const auto found = std::find_if(task.needs.begin(), task.needs.end(),
                                  [&](const WorkspaceNeed& need) { return need.algorithm == step.algorithm && need.recompute == again; });
  return found == task.needs.end() ? nullptr : &*found;
}

// In the order of issue, a tensor's tasks between a prefetch and the next are those that touch what it brings.
IdVector<StepId, bool> Plan::copies_for_updates() const {
  IdVector<StepId, bool> found(steps.size(), false);
  IdVector<TensorId, StepId> fetched(tensors.size());
  for (StepId id : ids_of(steps)) {
    const Step& step = steps[id];
    if (step.kind == StepKind::compute) {
      if (tasks[step.task].kind == TaskKind::update) continue;
      for (TensorId read : tasks[step.task].reads)
        if (fetched[read].valid()) found[fetched[read]] = false;
    } else if (step.tensor.valid() && tensors[step.tensor].at_home_on_host()) {
      found[id] = true;
      if (step.kind == StepKind::prefetch) fetched[step.tensor] = id;
    }
  }
  return found;
}

std::string_view to_string(StreamKind kind) {
  switch (kind) {
    case StreamKind::compute: return "compute";
    case StreamKind::d2h: return "d2h";
    case StreamKind::h2d: return "h2d";
    case StreamKind::comm: return "comm";
  }
  return "";
}

std::string_view to_string(StepKind kind) {
  switch (kind) {
    case StepKind::compute: return "compute";
    case StepKind::offload: return "offload";
    case StepKind::prefetch: return "prefetch";
    case StepKind::load: return "load";
    case StepKind::reduce: return "reduce";
  }
  return "";
}

}  // namespace plimsoll
