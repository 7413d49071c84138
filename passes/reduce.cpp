#include "passes/reduce.h"

#include "passes/analysis/buckets.h"

namespace plimsoll {

Status reduce(Plan& plan, const Context& context) {
  if (plan.ranks == 1) return {};
  const RankLink link = link_within(context.links.ranks, context.live_limit);
  std::vector<TaskId> tasks;
  for (const Step& step : plan.steps)
    if (step.kind == StepKind::compute && !step.recompute) tasks.push_back(step.task);
  IdVector<TaskId, std::vector<Bucket>> after(plan.tasks.size());
  for (Bucket& bucket : find_buckets(plan, context, tasks)) after[bucket.last].push_back(std::move(bucket));

  IdVector<StepId, Step> steps;
  steps.reserve(plan.steps.size());
  std::vector<StepId> now_at;
  for (Step& step : plan.steps) {
    const TaskId done = step.kind == StepKind::compute && !step.recompute ? step.task : TaskId();
    for (StepId& wait : step.waits) wait = now_at[static_cast<size_t>(wait.value)];  // waits set by the policy
    now_at.push_back(steps.push_back(std::move(step)));
    if (!done.valid()) continue;
    for (const Bucket& bucket : after[done]) {
      const int64_t workspace = reduction_workspace(link, plan.ranks, bytes_of(plan, bucket.tensors));
      steps.push_back({.stream = StreamKind::comm,
                       .kind = StepKind::reduce,
                       .tensor = bucket.tensors.front(),
                       .bucket = bucket.tensors,
                       .workspace = {.bytes = workspace}});
    }
  }
  plan.steps = std::move(steps);
  return {};
}

}  // namespace plimsoll
