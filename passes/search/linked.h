// Where the search begins, too: what the links carry while the tasks compute is free of charge, so as much leaves over them
// as is back in time, the dearest to run again first; what is still too much is run again, the cheapest first.
//
//   compute   | f1 | f2 | f3 | f4 |P| b4  | b3  | b2  | b1  |      P: the step where most is live when everything stays
//   offload        |--x1--|--x2--|.                                every copy off the device ends before P,
//   fetch                          .|--x2--|--x1--|                every copy back begins behind it and ends before its use
#pragma once

#include "passes/search/state.h"

namespace plimsoll::search {

// Seconds to make a tensor from what stays when everything does that the backward touches; below 0: it cannot be.
double seconds_again(const Model& model, int32_t tensor);

class LinkedSeeds {
 public:
  // `bench` is used for one evaluation.
  explicit LinkedSeeds(Workbench& bench);

  // So much given up that P is within `limit`, if that can be. `share`: of the links' time that may be used.
  Fates fates(int64_t limit, double share, const Means& means) const;

 private:
  struct Item {
    int32_t tensor = 0;
    double made = 0, wanted = 0;       // seconds
    double out = 0, back = 0;          // what its copies take
    double price = 0;                  // seconds to run it again, for a byte; infinite where it may not
  };

  const Model& model_;
  std::vector<Item> items_;            // what is live at P and not used there, dearest first
  double peak_begin_ = 0, peak_end_ = 0;
  int64_t peak_bytes_ = 0;
};

}  // namespace plimsoll::search
