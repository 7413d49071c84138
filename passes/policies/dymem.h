// Dymem (HPDC 2020): dynamic memory management for training, with graph order, transfers without barriers, early
// prefetch, and grouping of tensors by mobility.
//
//   Algorithm 1  the order: OrderKind::arrivals. Depth first from the model's inputs; a layer runs when the last of its
//                predecessors arrives at it. The backward visits the layers in reverse.
//   transfers    feature maps that the backward reads are offloaded after their last use in the forward. No layer waits
//                for a copy: the bytes are free once it has finished, and only a task that needs them earlier waits.
//   Algorithm 2  when the backward reaches a layer, everything that its successors read is fetched, up to and including
//                the next expensive layer, where there is room.
//   Algorithm 3  PlaceKind::by_mobility: tensors that the next task reads for the last time lie at the low end of the
//                pool, the others at the high end (pool/two_ended_pool.h). The plan uses the addresses of that pool.
//   equation 1   the fraction of free bytes that a request cannot get: in bytes, not nodes.
//
// How open or wrong points of the paper were read:
//   - Algorithm 1 counts arrivals in one bare variable and compares it with another layer's. Here each layer has its
//     own counter, compared with the number of its predecessors and reset in each iteration.
//   - Algorithm 2 tests one layer and fetches another. Here it fetches the layer that it tests. Its branch for CONV
//     does not check whether there is anything to fetch, or whether it was fetched: here it fetches what is off the
//     device. It names no end of the window: here that is the first CONV found, included. "CONV" is a task with many
//     operations per byte.
//   - Algorithm 3, line 4, is true for all layers but the last, so nothing would ever be movable. Here a tensor is
//     movable if the next task reads it and no later task does.
//   - A copy still in flight when its tensor is needed again: a plan made ahead of time omits such a copy.
//   - A tensor that fits at neither end goes to the paper's incremental region. Here the copies in flight are waited
//     for first, the earliest first. Then the pool grows, and the planner finds that the plan exceeds the budget.
//   - Model inputs are loaded again, not copied out. Nothing is copied out twice.
#pragma once

#include "passes/policy.h"

namespace plimsoll {

schedule::Program dymem(const ScheduleRequest& request);

}  // namespace plimsoll
