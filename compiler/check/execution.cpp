// Rule 1: each task runs exactly once, and each sum over ranks is computed exactly once.
#include <fmt/format.h>

#include "compiler/check/verdict.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

// With several ranks: everything that must be summed over ranks is reduced exactly once, and nothing else is.
void check_reductions(const Plan& plan, Verdict& verdict) {
  IdVector<TensorId, StepId> reduced(plan.tensors.size());
  const IdVector<TensorId, bool> wanted = added_up_over_ranks(plan);
  for (StepId id : ids_of(plan.steps))
    for (TensorId tensor : plan.steps[id].bucket) {
      if (!wanted[tensor])
        verdict.refuse(
            Rule::execution, id, tensor,
            fmt::format("{} reduces {}, whose sum is not used", verdict.name(id), verdict.name(tensor)));
      if (reduced[tensor].valid())
        verdict.refuse(Rule::execution, id, tensor,
                       fmt::format("{} is reduced twice, at steps {} and {}", verdict.name(tensor),
                                   reduced[tensor].value, id.value));
      reduced[tensor] = id;
    }
  for (TensorId tensor : ids_of(plan.tensors))
    if (wanted[tensor] && !reduced[tensor].valid())
      verdict.refuse(Rule::execution, {}, tensor,
                     fmt::format("{} is never reduced over the {}", verdict.name(tensor), counted(plan.ranks, "rank")));
}

}  // namespace

IdVector<TensorId, bool> results_of(const Plan& plan) {
  IdVector<TensorId, bool> results(plan.tensors.size());
  for (const PlanTask& task : plan.tasks)
    if (task.kind == TaskKind::loss)
      for (TensorId tensor : task.writes)
        results[tensor] = plan.tensors[tensor].kind != TensorKind::activation_gradient;
  for (const PlanTask& task : plan.tasks)
    for (TensorId tensor : task.reads) results[tensor] = false;
  return results;
}

IdVector<TensorId, bool> added_up_over_ranks(const Plan& plan) {
  if (plan.ranks == 1) return IdVector<TensorId, bool>(plan.tensors.size());
  IdVector<TensorId, bool> wanted = results_of(plan);
  for (const PlanTask& task : plan.tasks) {
    if (task.kind != TaskKind::update) continue;
    for (const auto* list : {&task.reads, &task.updates})
      for (TensorId tensor : *list)
        if (plan.tensors[tensor].kind == TensorKind::weight_gradient) wanted[tensor] = true;
  }
  return wanted;
}

void check_execution(const Plan& plan, Verdict& verdict) {
  IdVector<TaskId, StepId> ran(plan.tasks.size());
  for (StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    if (step.kind != StepKind::compute) continue;
    if (!step.recompute) {
      if (ran[step.task].valid())
        verdict.refuse(Rule::execution, id, {},
                       fmt::format("task {} runs twice, at steps {} and {}", verdict.name(step.task),
                                   ran[step.task].value, id.value));
      ran[step.task] = id;
    } else if (plan.tasks[step.task].kind != TaskKind::forward) {
      verdict.refuse(Rule::execution, id, {},
                     fmt::format("{} recomputes a task of kind {}; only forward tasks may be recomputed",
                                 verdict.name(id), to_string(plan.tasks[step.task].kind)));
    } else if (!ran[step.task].valid()) {
      verdict.refuse(Rule::execution, id, {},
                     fmt::format("{}, step {}, precedes the first run of its task", verdict.name(id), id.value));
    }
  }
  check_reductions(plan, verdict);
  for (TaskId task : ids_of(plan.tasks))
    if (!ran[task].valid()) verdict.refuse(Rule::execution, fmt::format("task {} never runs", verdict.name(task)));
}

}  // namespace plimsoll
