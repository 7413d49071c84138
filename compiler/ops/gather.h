// Which indices Gather takes at compile time: evenly spaced ones are a slice. All others are tensors in the arena.
#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll {

// True for 0, 1, 2 or 4, 2, 0; also for a single index and for none.
bool evenly_spaced(const std::vector<int64_t>& indices);

}  // namespace plimsoll
