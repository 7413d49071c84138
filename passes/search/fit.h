// The greedy part of the search: gives up what is cheapest for its bytes, where too much is live, until all fits.
#pragma once

#include "passes/search/state.h"

namespace plimsoll::search {

// From `state` on, gives up tensors until the limit is kept, or nothing more can be given up. What has a fate keeps it
// where that helps; a tensor that is in the way nevertheless gets another one.
State fit(Workbench& bench, State state, int64_t limit, const Means& means);

}  // namespace plimsoll::search
