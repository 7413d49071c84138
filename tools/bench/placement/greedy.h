// Greedy placement, as in most compilers, for comparison with passes/place/solve.h. Buffers are placed one after
// another by an order of preference, each in a gap between those placed before it. Quadratic.
#pragma once

#include "passes/place/problem.h"

namespace plimsoll::placement {

enum class Greedy {
  by_size,      // largest first, each in the lowest gap that fits
  by_area,      // largest size · lifetime first, lowest gap
  by_lifetime,  // longest-lived first, lowest gap
  best_fit,     // largest first, each in the tightest gap that fits
};

Solution place_greedily(const Problem& problem, Greedy greedy);

}  // namespace plimsoll::placement
