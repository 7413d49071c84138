#include "passes/host_pool.h"

#include "compiler/support/bytes.h"
#include "passes/place/solve.h"

namespace plimsoll {

Status host_pool(Plan& plan, const Context&) {
  constexpr size_t kNone = static_cast<size_t>(-1);
  // Residences last for the whole run and lie at the bottom; temporary copies lie above them.
  int64_t bottom = 0;
  for (const TensorId id : ids_of(plan.tensors)) {
    const PlanTensor& tensor = plan.tensors[id];
    if (!tensor.at_home_on_host()) continue;
    if (tensor.slice_of.valid()) {
      plan.tensors.edit(id).home_offset = plan.tensors[tensor.slice_of].home_offset + tensor.slice_begin;
      continue;
    }
    plan.tensors.edit(id).home_offset = bottom;
    bottom += align_up(plan.tensors[id].bytes);
  }
  placement::Problem problem;
  IdVector<TensorId, size_t> current(plan.tensors.size(), kNone);
  IdVector<StepId, size_t> slot(plan.steps.size(), kNone);
  for (const StepId id : ids_of(plan.steps)) {
    Step& step = plan.steps[id];
    if (step.tensor.valid() && plan.tensors[step.tensor].at_home_on_host()) {
      step.host_offset = plan.tensors[step.tensor].home_offset;
      continue;
    }
    if (step.kind == StepKind::offload) {
      current[step.tensor] = problem.buffers.size();
      problem.buffers.push_back({.lower = id.value, .size = align_up(plan.tensors[step.tensor].bytes)});
    } else if (step.kind != StepKind::prefetch) {
      continue;
    }
    slot[id] = current[step.tensor];
    PLIMSOLL_CHECK(slot[id] != kNone,
                   "tensor '" + plan.tensors[step.tensor].name + "' is fetched before it is offloaded");
    problem.buffers[slot[id]].upper = id.value + 1;
  }
  if (problem.buffers.empty()) return {};
  const placement::Solution solution = placement::solve(problem);
  for (const StepId id : ids_of(plan.steps))
    if (slot[id] != kNone) plan.steps[id].host_offset = bottom + solution.offsets[slot[id]];
  return {};
}

}  // namespace plimsoll
