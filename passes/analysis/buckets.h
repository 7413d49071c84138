// Gradient buckets: the gradients that are reduced over the ranks in one message, and the cost of a reduction. Messages
// of a single gradient are dominated by latency. A message of all gradients cannot start before the backward ends.
//
//   backward   | fc'  |  conv3'  |  conv2'  |  conv1'  |
//   comm              |  fc, conv3          |   | conv2, conv1 |
#pragma once

#include <vector>

#include "passes/context.h"

namespace plimsoll {

struct Bucket {
  std::vector<TensorId> tensors = {};  // in the order in which they are complete
  TaskId last = {};                    // all of them are complete after this task
};

// Before: `tasks` is an order of all tasks; the plan has several ranks. After: buckets in the order of their last
// tasks: first the results of the loss task that the trainer reads, then every weight gradient read by an update, once.
// A bucket is closed when its latency is a small part of its time.
std::vector<Bucket> find_buckets(const Plan& plan, const Context& context, const std::vector<TaskId>& tasks);

int64_t bytes_of(const Plan& plan, const std::vector<TensorId>& tensors);

// Seconds of a reduction of `bytes` with the minimum traffic: each rank sums its part and sends it to the others. The
// cost is that of a ring (Patarasuk and Yuan 2009).
double reduction_seconds(const RankLink& link, int64_t ranks, int64_t bytes);

// Workspace in bytes, in addition to the gradients: one send buffer and one receive buffer.
int64_t reduction_workspace(const RankLink& link, int64_t ranks, int64_t bytes);

// The link as used under this live limit. Larger pieces mean fewer messages; under a small limit, pieces are a small
// part of it.
RankLink link_within(RankLink link, int64_t live_limit);

}  // namespace plimsoll
