// The greedy part of the search: where too much is live, evicts the tensor with the lowest cost per byte, until all
// fits.
#pragma once

#include "passes/search/state.h"

namespace plimsoll::search {

// Starting from `state`, evicts tensors until the limit is kept or nothing more can be evicted. Existing decisions are
// kept where they help; a tensor that still takes bytes at the peak gets another decision.
State fit(Workbench& bench, State state, int64_t limit, const Means& means);

}  // namespace plimsoll::search
