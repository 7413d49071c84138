#include "passes/summarize.h"

#include <algorithm>

#include "compiler/support/bytes.h"
#include "passes/analysis/buckets.h"
#include "passes/analysis/liveness.h"

namespace plimsoll {

Status summarize(Plan& plan, const Context& context) {
  PlanSummary& summary = plan.summary;
  const std::vector<int64_t> live = live_bytes(plan, context.policy, false);
  const auto peak = std::max_element(live.begin(), live.end());
  summary.live_bytes = peak == live.end() ? summary.persistent_bytes : *peak;
  summary.peak_step = peak == live.end() ? 0 : peak - live.begin();
  summary.peak_live_tensors =
      std::count_if(plan.residencies.begin(), plan.residencies.end(), [&](const Residency& residency) {
        return residency.first_step <= summary.peak_step && summary.peak_step <= residency.last_step;
      });

  // One workspace serves all steps: they run one after another even if nothing else is shared.
  summary.network_wide_bytes = summary.host_pool_bytes = 0;
  int64_t workspace = 0;
  for (const PlanTensor& tensor : plan.tensors)
    if (!tensor.slice_of.valid()) summary.network_wide_bytes += align_up(tensor.bytes);
  for (const PlanTensor& tensor : plan.tensors)
    if (tensor.at_home_on_host())
      summary.host_pool_bytes = std::max(summary.host_pool_bytes, tensor.home_offset + tensor.bytes);
  for (const Step& step : plan.steps) workspace = std::max(workspace, align_up(step.workspace.bytes));
  summary.network_wide_bytes += workspace;

  summary.offloaded_bytes = summary.prefetched_bytes = summary.recomputed_tasks = 0;
  summary.reduced_bytes = 0;
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::reduce)
      summary.reduced_bytes += bytes_of(plan, step.bucket) *
                               (plan.tensors[step.tensor].kind == TensorKind::weight_gradient ? 1 : plan.rounds);
    const int64_t bytes = step.tensor.valid() ? plan.tensors[step.tensor].bytes : 0;
    const int64_t times = times_of(step.rounds, plan.rounds);
    if (step.kind == StepKind::offload) summary.offloaded_bytes += times * bytes;
    if (step.kind == StepKind::prefetch) summary.prefetched_bytes += times * bytes;
    if (step.host_offset >= 0) summary.host_pool_bytes = std::max(summary.host_pool_bytes, step.host_offset + bytes);
    if (step.recompute) ++summary.recomputed_tasks;
  }
  return {};
}

}  // namespace plimsoll
