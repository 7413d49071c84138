// Exact placement under a capacity. Greedy orders waste up to a quarter of the bytes. For solvable problems of a few
// thousand buffers this search needs little more than one descent.
// Private to passes/place/.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "passes/place/compact.h"

namespace plimsoll::placement {

// Offsets of the items such that no end exceeds `capacity`. `nodes`: the number of placements to try, counted down.
// nullopt: no solution exists, or no nodes are left.
std::optional<std::vector<int64_t>> search(const Compact& problem, int64_t capacity, int64_t& nodes);

}  // namespace plimsoll::placement
