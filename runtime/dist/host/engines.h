// The host's engines. Private to runtime/dist/host/.
#pragma once

#include <memory>

#include "runtime/dist/place.h"
#include "runtime/dist/ranks.h"

namespace plimsoll::dist {

std::unique_ptr<Ranks> join_by_mpi(int64_t ranks, int64_t patience);

// Over TCP through rank 0, for processes that were not started by mpirun. Rank 0 computes the sums, so its network card
// limits the speed.
std::unique_ptr<Ranks> join_by_sockets(int64_t ranks, const Place& place, int64_t patience);

}  // namespace plimsoll::dist
