// The greedy part of the search: evicts the tensors with the lowest cost per byte at the steps above the limit, until
// the schedule fits.
#pragma once

#include "passes/search/state.h"

namespace plimsoll::search {

// Evicts tensors until the schedule keeps the limit or nothing more can be evicted. Evicted tensors stay evicted. If
// one of them still takes bytes at the peak, it gets another decision, such as a deeper level (schedule/lower.h).
State fit(Workbench& bench, Decisions decisions, int64_t limit, const Means& means);

}  // namespace plimsoll::search
