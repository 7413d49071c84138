#include "passes/copy_rounds.h"

#include "passes/analysis/rounds.h"

namespace plimsoll {

Status copy_rounds(Plan& plan, const Context&) {
  RoundsOfCopies rounds;
  rounds.begin(plan.steps.size(), plan.tensors.size());
  const auto adds_up = [&](TensorId tensor) { return plan.tensors[tensor].kind == TensorKind::weight_gradient; };
  for (const StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    if (step.kind == StepKind::compute) {
      const PlanTask& task = plan.tasks[step.task];
      if (task.kind == TaskKind::update) continue;
      for (const auto* list : {&task.reads, &task.updates})
        for (const TensorId tensor : *list) rounds.access(tensor.value, adds_up(tensor));
    } else if (step.tensor.valid() && plan.tensors[step.tensor].at_home_on_host()) {
      if (step.kind == StepKind::prefetch) rounds.fetch(id.value, step.tensor.value);
      else rounds.store(id.value, step.tensor.value, adds_up(step.tensor));
    }
  }
  for (const StepId id : ids_of(plan.steps)) plan.steps[id].rounds = rounds.of(id.value);
  return {};
}

}  // namespace plimsoll
