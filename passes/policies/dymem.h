// Dymem (HPDC 2020): dynamic memory management for training, by graph order, transfers without barriers, early prefetch,
// and grouping of tensors by mobility.
//
//   Algorithm 1  the order: OrderKind::arrivals. Depth first from the images; a layer runs when the last of its
//                predecessors arrives at it. The backward takes the layers in the reverse order.
//   transfers    feature maps that the backward wants leave after their last use in the forward. No layer waits for a
//                copy: the bytes are free when it has finished, and only who needs them sooner waits.
//   Algorithm 2  when the backward comes to a layer, all that its successors want is fetched, up to and with the next
//                expensive one, where there is room.
//   Algorithm 3  PlaceKind::by_mobility: what the next task reads for the last time lies at the low end of the pool, what
//                stays at the high end (pool/two_ended_pool.h). The addresses of the plan are the two-ended pool's.
//   equation 1   the share of free bytes that a request cannot have: bytes over bytes, not nodes.
//
// Where the paper is silent or wrong, it was read so:
//   - Algorithm 1 counts arrivals in one bare variable and compares it with another layer's. Each layer has a counter of
//     its own, compared with the number of its predecessors, new for each iteration.
//   - Algorithm 2 tests one layer and fetches another. It fetches the layer that it looks at. Its branch for CONV looks
//     neither whether there is something to fetch nor whether it was fetched: it fetches what is away. It names no end of
//     the window: that is the first CONV found, included. "CONV" is a task of many operations per byte.
//   - Algorithm 3, line 4, is true for all layers but the last, and nothing would ever be movable. Movable is what the
//     task that runs next reads, and none after that.
//   - A copy under way when its tensor is wanted back is a copy that a plan made ahead of time leaves out.
//   - What fits at neither end is the paper's incremental region. The copies under way are waited for first, the earliest
//     first; then the pool grows, and the planner sees that the budget is not met.
//   - Images are loaded again, not copied out. Nothing is copied out twice.
#pragma once

#include "passes/policy.h"

namespace plimsoll {

Status dymem(Plan& plan, const Context& context);

}  // namespace plimsoll
