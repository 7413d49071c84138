// Placement problems that took the whole effort, with their solutions. Plans of one task graph often have the same
// buffers: the unlimited plans of most policies, for example, and those of one policy for several budgets.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "passes/place/solve.h"

namespace plimsoll::placement {

// Any thread may use it.
class LastSolutions {
 public:
  // The result of placement::solve() for the same arguments.
  Solution solve(const Problem& problem, const Effort& effort);

 private:
  using Times = std::vector<std::array<int64_t, 3>>;  // of each buffer: lower, upper, size
  struct Solved {
    Times buffers;
    Effort effort;
    Solution solution;
  };
  std::mutex mutex_;  // guards all below
  std::deque<Solved> last_ = {};
};

}  // namespace plimsoll::placement
