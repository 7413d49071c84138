// The minimum-memory schedule: every tensor that may be evicted is evicted right after use.
#pragma once

#include "passes/search/state.h"

namespace plimsoll::search {

// Without copies, or without room for them in the host pool, this is the best of a few schedules, and the search
// (frontier.h) may find a smaller one. `bench` then holds its evaluation.
State minimum_schedule(Workbench& bench, const Means& means = {});

}  // namespace plimsoll::search
