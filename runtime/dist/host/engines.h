// The host's engines. Private to runtime/dist/host/.
#pragma once

#include <memory>

#include "runtime/dist/place.h"
#include "runtime/dist/ranks.h"

namespace plimsoll::dist {

std::unique_ptr<Ranks> join_by_mpi(int64_t ranks, int64_t patience);

// By TCP through rank 0, for processes that no mpirun has started: it sums, so it is as fast as its network card.
std::unique_ptr<Ranks> join_by_sockets(int64_t ranks, const Place& place, int64_t patience);

}  // namespace plimsoll::dist
