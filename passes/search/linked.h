// Start schedules that use idle time of the links. Copies that overlap with computing cost nothing. So tensors are
// offloaded as long as their copies return in time, the most expensive to recompute first. The rest of the excess is
// recomputed, the cheapest first.
//
//   compute   | f1 | f2 | f3 | f4 |P| b4  | b3  | b2  | b1  |      P: the peak step if everything stays
//   offload        |--x1--|--x2--|.                                every copy off the device ends before P;
//   fetch                          .|--x2--|--x1--|                every copy back begins after P, ends before its use
#pragma once

#include "passes/search/state.h"

namespace plimsoll::search {

class LinkedStarts {
 public:
  // `bench` is used for one evaluation only.
  explicit LinkedStarts(Workbench& bench);

  // Evicts enough for P to be within `limit`, if possible. `share`: the usable fraction of the links' idle time.
  Decisions decisions(int64_t limit, double share, const Means& means) const;

 private:
  struct Item {
    int32_t tensor = 0;
    double made = 0, wanted = 0;       // seconds: when it is written, and next read
    double out = 0, back = 0;          // seconds that its copies take
    double price = 0;                  // seconds of recomputation per byte; infinite if impossible
  };

  const Model& model_;
  std::vector<Item> items_;            // live at P and not accessed there; most expensive first
  TimeSpan peak_;                      // when P runs
  int64_t peak_bytes_ = 0;
};

}  // namespace plimsoll::search
