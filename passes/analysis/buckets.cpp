#include "passes/analysis/buckets.h"

#include <algorithm>

#include "compiler/support/bytes.h"
#include "passes/analysis/liveness.h"

namespace plimsoll {
namespace {

constexpr double kLatencyShare = 0.1;  // maximum share of latency in a bucket's time

// Of each gradient read by an update: position in `tasks` of the last task that adds to it.
IdVector<TensorId, int64_t> find_complete(const Plan& plan, const std::vector<TaskId>& tasks) {
  IdVector<TensorId, int64_t> complete(plan.tensors.size(), -1);
  IdVector<TensorId, bool> stepped(plan.tensors.size(), false);
  for (size_t at = 0; at < tasks.size(); ++at) {
    const PlanTask& task = plan.tasks[tasks[at]];
    const bool update = task.kind == TaskKind::update;
    for (const auto* touched : {&task.reads, &task.updates, &task.writes})
      for (const TensorId tensor : *touched) {
        if (plan.tensors[tensor].kind != TensorKind::weight_gradient) continue;
        if (update) stepped[tensor] = true;
        else if (touched != &task.reads) complete[tensor] = static_cast<int64_t>(at);
      }
  }
  for (const TensorId tensor : ids_of(plan.tensors))
    if (!stepped[tensor]) complete[tensor] = -1;
  return complete;
}

}  // namespace

int64_t bytes_of(const Plan& plan, const std::vector<TensorId>& tensors) {
  int64_t bytes = 0;
  for (const TensorId tensor : tensors) bytes += plan.tensors[tensor].bytes;
  return bytes;
}

double reduction_seconds(const RankLink& link, int64_t ranks, int64_t bytes) {
  const double share = 2 * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  return link.latency_seconds + share * static_cast<double>(bytes) / link.bytes_per_second;
}

// Each of the two buffers holds at least one element per rank.
int64_t reduction_workspace(const RankLink& link, int64_t ranks, int64_t bytes) {
  if (link.staging_bytes == 0) return 0;
  return 2 * align_up(std::max(std::min(bytes, link.staging_bytes), ranks * static_cast<int64_t>(sizeof(float))));
}

RankLink link_within(RankLink link, int64_t live_limit) {
  constexpr int64_t kLeast = 4096, kShare = 64;
  if (live_limit != kNoLimit) link.staging_bytes = std::min(link.staging_bytes, std::max(kLeast, live_limit / kShare));
  return link;
}

std::vector<Bucket> find_buckets(const Plan& plan, const Context& context, const std::vector<TaskId>& tasks) {
  std::vector<Bucket> buckets;
  const std::vector<TensorId> results = kept_to_the_end(context.graph);
  const IdVector<TensorId, int64_t> complete = find_complete(plan, tasks);
  std::vector<std::vector<TensorId>> at_task(tasks.size());
  for (const TensorId tensor : ids_of(plan.tensors))
    if (complete[tensor] >= 0) at_task[static_cast<size_t>(complete[tensor])].push_back(tensor);

  const double transfer = context.links.ranks.latency_seconds * (1 - kLatencyShare) / kLatencyShare;
  Bucket open;
  for (size_t at = 0; at < tasks.size(); ++at) {
    Bucket of_loss;
    for (const TensorId written : plan.tasks[tasks[at]].writes)
      if (std::ranges::count(results, written) > 0) of_loss.tensors.push_back(written);
    of_loss.last = tasks[at];
    if (!of_loss.tensors.empty()) buckets.push_back(std::move(of_loss));
    if (at_task[at].empty()) continue;
    open.tensors.insert(open.tensors.end(), at_task[at].begin(), at_task[at].end());
    open.last = tasks[at];
    const double seconds = reduction_seconds(context.links.ranks, plan.ranks, bytes_of(plan, open.tensors));
    if (seconds - context.links.ranks.latency_seconds < transfer) continue;
    buckets.push_back(std::move(open));
    open = {};
  }
  if (!open.tensors.empty()) buckets.push_back(std::move(open));
  return buckets;
}

}  // namespace plimsoll
