// Dymem's pool, "grouping tensors by mobility" (GTBM, its section on memory management, Algorithm 3). Short-lived
// tensors are taken from the low end and others from the high end, so that neither fragments the other.
//
//   0                                                  capacity
//   | m | m |  m  |            free           |  s  | s |       m: read by the next task, and by no later one
//   +---+---+-----+---------------------------+-----+---+       s: all others
//     low region →                            ← high region
//
// Each region allocates by best fit among its holes, then from the free middle. What fits in neither goes to the
// paper's incremental region; here the caller frees bytes or grows the middle.
#pragma once

#include "passes/pool/list_pool.h"

namespace plimsoll::pool {

enum class End { low, high };

class TwoEndedPool {
 public:
  explicit TwoEndedPool(int64_t capacity = kUnbounded) : capacity_(capacity) {}

  // Returns an address in its region, counted from that region's end. nullopt: the regions would overlap.
  std::optional<int64_t> allocate(int64_t bytes, End end);
  // Enlarges the middle by the missing bytes.
  int64_t grow(int64_t bytes, End end);
  void release(int64_t offset, int64_t bytes, End end);

  // The maximum of both regions together at any time: with this capacity nothing fails.
  int64_t high_water() const { return high_water_; }

 private:
  ListPool& region(End end) { return end == End::low ? low_ : high_; }

  ListPool low_{}, high_{};  // each without a limit of its own
  int64_t capacity_ = 0;
  int64_t high_water_ = 0;
};

}  // namespace plimsoll::pool
