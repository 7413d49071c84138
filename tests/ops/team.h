// The number of threads of the host's kernels.
#pragma once

#include <omp.h>

namespace plimsoll::test {

// Sets it until the end of the block.
class Team {
 public:
  explicit Team(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() { omp_set_num_threads(before_); }

 private:
  int before_;
};

}  // namespace plimsoll::test
