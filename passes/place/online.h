// Placement as in published systems, which place during training: buffer by buffer in the order of allocation, without
// knowledge of later buffers. Placements with known lifetimes are compared with the fragmentation of this one.
#pragma once

#include "passes/place/problem.h"

namespace plimsoll::placement {

// Best fit from both ends of a pool (pool/two_ended_pool.h). `low`: per buffer, whether it lies at the low end; if all
// do, they lie as in a list of blocks (pool/list_pool.h). The pool's size is the maximum of both ends together.
Solution place_in_turn(const Problem& problem, const std::vector<bool>& low);

}  // namespace plimsoll::placement
