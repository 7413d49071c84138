#include "compiler/ir/plan_spans.h"

#include <algorithm>

namespace plimsoll {
namespace {

// The tensors that a step makes resident: a residency can begin here.
std::vector<TensorId> puts(const Plan& plan, const Step& step) {
  if (step.kind == StepKind::compute) return plan.tasks[step.task].written(step.recompute);
  const bool leaves_it = step.kind == StepKind::offload || step.kind == StepKind::reduce;
  return leaves_it ? std::vector<TensorId>{} : std::vector{step.tensor};
}

template <class Body>
void for_each_touch(const Plan& plan, const Step& step, Body body) {
  for (TensorId tensor : step.bucket) body(tensor);
  if (step.kind == StepKind::reduce) return;
  if (step.kind != StepKind::compute) return body(step.tensor);
  const PlanTask& task = plan.tasks[step.task];
  for (const auto* list : {&task.reads, &task.writes}) {
    for (TensorId tensor : *list) body(tensor);
  }
  if (!step.recompute)
    for (TensorId tensor : task.updates) body(tensor);
}

}  // namespace

IdVector<TensorId, std::vector<Span>> spans_of(const Plan& plan) {
  IdVector<TensorId, std::vector<Span>> spans(plan.tensors.size());
  for (StepId id : ids_of(plan.steps)) {
    const std::vector<TensorId> put = puts(plan, plan.steps[id]);
    for (TensorId tensor : put) spans[tensor].push_back({id.value, id.value});
    for_each_touch(plan, plan.steps[id], [&](TensorId tensor) {
      if (!spans[tensor].empty()) spans[tensor].back().last = id.value;
    });
  }
  return spans;
}

// Spans are in ascending order of `first`.
const Span* span_from(const std::vector<Span>& spans, int32_t first) {
  const auto found =
      std::lower_bound(spans.begin(), spans.end(), first, [](const Span& span, int32_t at) { return span.first < at; });
  return found != spans.end() && found->first == first ? &*found : nullptr;
}

}  // namespace plimsoll
