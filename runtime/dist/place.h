// Which rank a process is, according to the environment set by its launcher.
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll::dist {

struct Place {
  int64_t rank = 0, size = 1;
  int64_t local = 0;                  // among the ranks of the same machine: its device
  std::string host = "127.0.0.1";     // the address of rank 0, and a free port there
  int port = 29500;
};

// torchrun's variables (RANK, WORLD_SIZE, LOCAL_RANK), else Open MPI's, else Slurm's; MASTER_ADDR and MASTER_PORT with
// any of them. Without them: a single rank. Throws RanksError if a value is not a number.
Place place_in_environment();

// "torchrun", "mpirun", "srun"; "" if there was no launcher.
std::string launcher_in_environment();

// Checks that the number of started ranks is the one that the trainer was compiled for. Otherwise throws RanksError,
// with a text on rank 0 only.
void expect_ranks(int64_t expected, int64_t started, int64_t rank);

}  // namespace plimsoll::dist
