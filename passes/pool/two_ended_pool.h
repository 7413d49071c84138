// Dymem's pool, "grouping tensors by mobility" (GTBM, its section on memory management, Algorithm 3): what goes away soon
// is taken from the low end, what stays from the high end, so that neither makes holes for the other.
//
//   0                                                  capacity
//   | m | m |  m  |            free           |  s  | s |       m: read by the task that runs next, and by no later one
//   +---+---+-----+---------------------------+-----+---+       s: stays
//     low region →                            ← high region
//
// Each region is taken by best fit among the holes in it, then from the free middle. What fits in neither is the paper's
// incremental region; here the caller makes room or grows the middle.
#pragma once

#include "passes/pool/list_pool.h"

namespace plimsoll::pool {

enum class End { low, high };

class TwoEndedPool {
 public:
  explicit TwoEndedPool(int64_t capacity = kUnbounded) : capacity_(capacity) {}

  // An address in its region, counted from the region's own end. None: the regions would meet.
  std::optional<int64_t> allocate(int64_t bytes, End end);
  // Enlarges the middle by what is lacking.
  int64_t grow(int64_t bytes, End end);
  void release(int64_t offset, int64_t bytes, End end);

  int64_t capacity() const { return capacity_; }
  // The most that both regions took at one time: with this capacity nothing fails.
  int64_t high_water() const { return high_water_; }
  // As the paper adds up: the low region's highest address and the high region's, whenever each was.
  int64_t sum_of_regions() const { return low_.most + high_.most; }

 private:
  struct Region {
    ListPool pool{};
    std::map<int64_t, int64_t> taken = {};  // offset → bytes
    int64_t most = 0;                       // the highest top so far
    int64_t top() const { return taken.empty() ? 0 : taken.rbegin()->first + taken.rbegin()->second; }
  };
  Region& region(End end) { return end == End::low ? low_ : high_; }

  Region low_, high_;
  int64_t capacity_ = 0;
  int64_t high_water_ = 0;
};

}  // namespace plimsoll::pool
