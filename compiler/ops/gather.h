// Which numbers Gather takes while compiling: a run of them is a slice. All others lie in the arena, as a table of their own.
#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll {

// 0, 1, 2 or 4, 2, 0; also one alone, and none.
bool evenly_spaced(const std::vector<int64_t>& indices);

}  // namespace plimsoll
