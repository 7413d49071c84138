#include "passes/copy_rounds.h"

namespace plimsoll {

// In issue order, the tasks between a prefetch of a tensor and the next one access what it fetched. They change a
// gradient in every round: the first fetch of a round reads what earlier rounds have stored, and a store without a
// later fetch is for the next round.
Status copy_rounds(Plan& plan, const Context&) {
  IdVector<TensorId, StepId> fetched(plan.tensors.size()), stored(plan.tensors.size());
  const auto rounds_of = [&](StepId id) -> CopyRounds& { return plan.steps[id].rounds; };
  for (const StepId id : ids_of(plan.steps)) {
    Step& step = plan.steps[id];
    step.rounds = CopyRounds::all;
    if (step.kind == StepKind::compute) {
      const PlanTask& task = plan.tasks[step.task];
      if (task.kind == TaskKind::update) continue;
      for (const auto* list : {&task.reads, &task.updates})
        for (const TensorId touched : *list) {
          if (!fetched[touched].valid() || rounds_of(fetched[touched]) != CopyRounds::last) continue;
          const bool first = plan.tensors[touched].kind == TensorKind::weight_gradient && !stored[touched].valid();
          rounds_of(fetched[touched]) = first ? CopyRounds::all_but_first : CopyRounds::all;
        }
    } else if (step.tensor.valid() && plan.tensors[step.tensor].at_home_on_host()) {
      const StepId source = fetched[step.tensor];
      step.rounds = CopyRounds::last;
      if (step.kind == StepKind::prefetch) {
        if (const StepId put = stored[step.tensor]; put.valid() && rounds_of(put) == CopyRounds::all_but_last)
          rounds_of(put) = CopyRounds::all;
        fetched[step.tensor] = id;
      } else {
        const bool kept = plan.tensors[step.tensor].kind == TensorKind::weight_gradient && source.valid() &&
                          rounds_of(source) != CopyRounds::last;
        if (kept) step.rounds = CopyRounds::all_but_last;
        stored[step.tensor] = id;
      }
    }
  }
  return {};
}

}  // namespace plimsoll
