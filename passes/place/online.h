// Placement as published systems do it during training: buffer by buffer in order of allocation, without knowledge of
// later buffers. The fragmentation of this is the reference for placements with known lifetimes.
#pragma once

#include "passes/place/problem.h"

namespace plimsoll::placement {

// Best fit in a list of blocks (pool/list_pool.h).
Solution place_in_turn(const Problem& problem);

// From both ends of a pool (pool/two_ended_pool.h). `soon`: per buffer, whether its lifetime ends soon; those lie low.
// The pool's size is the maximum of both ends together.
Solution place_by_mobility(const Problem& problem, const std::vector<bool>& soon);

}  // namespace plimsoll::placement
