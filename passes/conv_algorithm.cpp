#include "passes/conv_algorithm.h"

#include <algorithm>
#include <optional>

#include "compiler/support/bytes.h"
#include "passes/analysis/liveness.h"

namespace plimsoll {
namespace {

// Tasks between the first and the last reduction may overlap with one, so its workspace counts as live. The evaluator
// counts it in the same way: the plan must never choose a slower algorithm than the evaluator assumed
// (schedule/evaluate.h).
void add_reduction_workspace(const Plan& plan, std::vector<int64_t>& live) {
  int64_t workspace = 0;
  std::optional<size_t> first, last;
  for (const StepId id : ids_of(plan.steps)) {
    if (plan.steps[id].kind != StepKind::reduce) continue;
    workspace = std::max(workspace, align_up(plan.steps[id].workspace.bytes));
    last = static_cast<size_t>(id.value);
    if (!first) first = last;
  }
  for (size_t step = first.value_or(0); last && step < *last; ++step)
    if (plan.steps[StepId(static_cast<int64_t>(step))].kind == StepKind::compute) live[step] += workspace;
}

}  // namespace

std::vector<int64_t> bytes_of_tensors(const Plan& plan, const Context& context) {
  if (!context.policy.share_memory) {
    int64_t all = 0;
    for (const Residency& residency : plan.residencies) all += align_up(residency.bytes);
    return std::vector<int64_t>(plan.steps.size(), all);
  }
  std::vector<int64_t> live = live_bytes(plan, context.policy, true);
  add_reduction_workspace(plan, live);
  return live;
}

int64_t limit_of_algorithms(const Policy& policy, int64_t live_limit) {
  switch (policy.algorithms) {
    case AlgorithmKind::fitting: return live_limit;
    case AlgorithmKind::smallest: return 0;
    case AlgorithmKind::fastest: return kNoLimit;
  }
  return 0;
}

Status conv_algorithm(Plan& plan, const Context& context) {
  for (Step& step : plan.steps)
    if (step.kind == StepKind::compute) step.workspace = {};
  const std::vector<int64_t> live = bytes_of_tensors(plan, context);
  const int64_t limit = limit_of_algorithms(context.policy, context.live_limit);
  for (const StepId id : ids_of(plan.steps)) {
    Step& step = plan.steps[id];
    if (step.kind != StepKind::compute) continue;
    const int64_t room = limit - live[static_cast<size_t>(id.value)];
    const auto fits = [&](const Choice& each) { return align_up(each.workspace_bytes) <= room; };
    const Choice& chosen = fastest_that_fits(context.choices.of(step.task, step.recompute), fits);
    step.algorithm = chosen.algorithm;
    step.workspace.bytes = chosen.workspace_bytes;
  }
  return {};
}

}  // namespace plimsoll
