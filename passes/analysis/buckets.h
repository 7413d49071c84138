// Which gradients are reduced over the ranks together, and what that takes. A message of every gradient on its own would be
// mostly latency; one message of all gradients could not leave before the backward ends.
//
//   backward   | fc'  |  conv3'  |  conv2'  |  conv1'  |
//   comm              |  fc, conv3          |   | conv2, conv1 |
#pragma once

#include <vector>

#include "passes/context.h"

namespace plimsoll {

struct Bucket {
  std::vector<TensorId> tensors = {};  // in the order in which they are complete
  TaskId last = {};                    // behind this task all of them are
};

// Before: `tasks` is an order of all tasks of the plan; the plan is of several ranks.
// After:  in the order of their last tasks: the results of the loss task that the trainer reads, then every weight gradient
//         that an update touches, once. A bucket is closed when its latency is a small part of its time.
std::vector<Bucket> find_buckets(const Plan& plan, const Context& context, const std::vector<TaskId>& tasks);

int64_t bytes_of(const Plan& plan, const std::vector<TensorId>& tensors);

// Of a reduction of so many bytes, by an engine that sends as few as can be: each rank adds up its part of them and
// gives it to the others (the figures are those of a ring, Patarasuk and Yuan 2009).
double reduction_seconds(const RankLink& link, int64_t ranks, int64_t bytes);

// What the engine asks for beside the gradients: one buffer to send from and one to receive in.
int64_t reduction_workspace(const RankLink& link, int64_t ranks, int64_t bytes);

// The link as a plan of so many bytes uses it: large pieces are fewer messages; where memory is short they are a small part of it.
RankLink link_within(RankLink link, int64_t live_limit);

}  // namespace plimsoll
