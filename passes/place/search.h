// Exact placement under a capacity, where greedy orders waste up to a quarter. For solvable problems of a few thousand
// buffers it needs little more than one descent.
// Private to passes/place/.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "passes/place/compact.h"

namespace plimsoll::placement {

// Offsets of the items such that no end exceeds `capacity`. nullopt: no solution exists, or the budget `nodes`, which
// is counted down, is spent.
std::optional<std::vector<int64_t>> search(const Compact& problem, int64_t capacity, int64_t& nodes);

}  // namespace plimsoll::placement
