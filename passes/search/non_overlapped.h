// Recomputes offloaded tensors whose copies do not overlap with tasks, where a recomputation takes less time. The other
// parts of the search rarely find this near the minimum: fit.h decides tensor by tensor at the peaks, by estimates of
// what overlaps, and a random move changes one tensor of many.
//
//   compute  ... [a]            [b]       b waits 2 ms until x is off the device:
//   copies          [ x out   ]           x is recomputed instead, in 0.1 ms
#pragma once

#include "passes/search/state.h"

namespace plimsoll::search {

// `state` fits `limit`, and so does the result, which takes no longer. Ends after about `work` more units of work on
// the bench.
State recompute_non_overlapped(Workbench& bench, State state, int64_t limit, int64_t work, const Means& means);

}  // namespace plimsoll::search
