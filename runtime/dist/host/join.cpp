#include <cstdlib>

#include "runtime/dist/host/engines.h"

namespace plimsoll::dist {

// Processes started by mpirun use MPI, whatever else is in the environment.
std::unique_ptr<Ranks> join(int64_t ranks, int64_t patience) {
  if (!std::getenv("OMPI_COMM_WORLD_SIZE") && launcher_in_environment() == "torchrun")
    return join_by_sockets(ranks, place_in_environment(), patience);
  return join_by_mpi(ranks, patience);
}

}  // namespace plimsoll::dist
