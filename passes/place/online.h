// Placement as the published systems do it while they train: buffer by buffer, in the order in which they come, knowing
// nothing of what is still to come. What holes that costs is what an arrangement of known lifetimes is held against.
#pragma once

#include "passes/place/problem.h"

namespace plimsoll::placement {

// Best fit in a list of blocks (pool/list_pool.h).
Solution place_in_turn(const Problem& problem);

// From both ends of a pool (pool/two_ended_pool.h): `soon` says of each buffer whether it ends soon, and lies low. The
// pool is as large as both ends together ever were.
Solution place_by_mobility(const Problem& problem, const std::vector<bool>& soon);

}  // namespace plimsoll::placement
