// Exact placement under a capacity, where greedy orders waste up to a quarter. Of problems with some thousand buffers it
// needs little more than one way down, where there is a solution at all.
// Private to passes/place/.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "passes/place/compact.h"

namespace plimsoll::placement {

// Offsets of the items with no end above `capacity`, or nothing when there are none or `nodes`, counted down, are spent.
std::optional<std::vector<int64_t>> search(const Compact& problem, int64_t capacity, int64_t& nodes);

}  // namespace plimsoll::placement
