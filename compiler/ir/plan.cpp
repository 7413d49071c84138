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

// In issue order, the tasks between a prefetch of a tensor and the next one access what it fetched. They change a
// gradient in every round: the first fetch of a round reads what earlier rounds have stored, and a store without a
// later fetch is for the next round.
IdVector<StepId, CopyRounds> Plan::copy_rounds() const {
  IdVector<StepId, CopyRounds> found(steps.size(), CopyRounds::all);
  IdVector<TensorId, StepId> fetched(tensors.size()), stored(tensors.size());
  for (StepId id : ids_of(steps)) {
    const Step& step = steps[id];
    if (step.kind == StepKind::compute) {
      const PlanTask& task = tasks[step.task];
      if (task.kind == TaskKind::update) continue;
      for (const auto* list : {&task.reads, &task.updates})
        for (TensorId touched : *list) {
          if (!fetched[touched].valid() || found[fetched[touched]] != CopyRounds::last) continue;
          const bool first = tensors[touched].kind == TensorKind::weight_gradient && !stored[touched].valid();
          found[fetched[touched]] = first ? CopyRounds::all_but_first : CopyRounds::all;
        }
    } else if (step.tensor.valid() && tensors[step.tensor].at_home_on_host()) {
      const StepId source = fetched[step.tensor];
      found[id] = CopyRounds::last;
      if (step.kind == StepKind::prefetch) {
        if (const StepId put = stored[step.tensor]; put.valid() && found[put] == CopyRounds::all_but_last) found[put] = CopyRounds::all;
        fetched[step.tensor] = id;
      } else {
        const bool kept = tensors[step.tensor].kind == TensorKind::weight_gradient && source.valid() && found[source] != CopyRounds::last;
        if (kept) found[id] = CopyRounds::all_but_last;
        stored[step.tensor] = id;
      }
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
