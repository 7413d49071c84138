#include "passes/order/orders.h"

#include <algorithm>

#include "passes/analysis/buckets.h"

namespace plimsoll::task_orders {

std::vector<TaskId> after_reductions(const Plan& plan, const Context& context, const Dependencies& dependencies,
                                     const std::vector<TaskId>& tasks, bool patient) {
  std::vector<TaskId> backbone;
  for (const TaskId id : tasks)
    if (!is_update(plan, id)) backbone.push_back(id);
  // Position in the backbone; of an update: the position that it follows.
  IdVector<TaskId, size_t> place(plan.tasks.size(), 0);
  std::vector<double> ends;
  for (size_t i = 0; i < backbone.size(); ++i) {
    place[backbone[i]] = i;
    const Choice& fastest = context.choices[backbone[i]].front();
    ends.push_back((ends.empty() ? 0 : ends.back()) + (plan.rounds > 1 ? fastest.last_seconds : fastest.seconds));
  }
  IdVector<TensorId, size_t> reduced(plan.tensors.size(), 0);  // position in the backbone after which it is reduced
  double comm = 0;
  for (const Bucket& bucket : find_buckets(plan, context, tasks)) {
    const size_t closed = place[bucket.last];
    comm = std::max(comm, ends[closed]) +
           reduction_seconds(context.links.ranks, plan.ranks, bytes_of(plan, bucket.tensors));
    const auto done = std::lower_bound(ends.begin() + static_cast<std::ptrdiff_t>(closed), ends.end(), comm);
    const size_t later = done == ends.end() ? ends.size() - 1 : static_cast<size_t>(done - ends.begin());
    for (const TensorId tensor : bucket.tensors) reduced[tensor] = patient ? later : closed;
  }
  std::vector<std::vector<TaskId>> follow(backbone.size());
  for (const TaskId id : ids_of(plan.tasks)) {
    if (is_update(plan, id)) {
      for (const auto* touched : {&plan.tasks[id].reads, &plan.tasks[id].updates})
        for (const TensorId tensor : *touched) place[id] = std::max(place[id], reduced[tensor]);
      follow[place[id]].push_back(id);
    }
    for (const TaskId after : dependencies.after[id])
      if (is_update(plan, after)) place[after] = std::max(place[after], place[id]);
  }
  std::vector<TaskId> ordered;
  ordered.reserve(tasks.size());
  for (size_t i = 0; i < backbone.size(); ++i) {
    ordered.push_back(backbone[i]);
    ordered.insert(ordered.end(), follow[i].begin(), follow[i].end());
  }
  return plan.rounds > 1 ? updates_last(plan, ordered) : ordered;
}

}  // namespace plimsoll::task_orders
