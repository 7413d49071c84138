// Which rank a process is, by what its launcher has left in the environment.
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll::dist {

struct Place {
  int64_t rank = 0, size = 1;
  int64_t local = 0;                  // among those of the same machine: its device
  std::string host = "127.0.0.1";     // where rank 0 is, and a port there that nobody has
  int port = 29500;
};

// torchrun's variables (RANK, WORLD_SIZE, LOCAL_RANK), else Open MPI's, else Slurm's; MASTER_ADDR and MASTER_PORT with any
// of them. None: a rank of one. Throws RanksError for what is no number.
Place place_in_environment();

// "torchrun", "mpirun", "srun"; "" where nobody has launched it.
std::string launcher_in_environment();

// What was started is what the trainer was compiled for. Else throws RanksError, with a text on rank 0 alone.
void expect_ranks(int64_t expected, int64_t started, int64_t rank);

}  // namespace plimsoll::dist
