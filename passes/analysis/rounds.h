// Which rounds of an iteration run each copy of a tensor that resides in the host pool.
//
// Updates run in the last round only. So a copy runs in the last round only, unless a task of every round accesses what
// it fetches. A gradient changes in every round: its first fetch of a round reads what earlier rounds have stored, and
// a store without a later fetch is for the next round.
//
//   fetch g   backward adds to g   store g      fetch g   update reads g
//   all but the first round        all but the last       the last round
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/plan.h"

namespace plimsoll {

// Walks over the steps in issue order. Every call is about a tensor that resides in the host pool.
class RoundsOfCopies {
 public:
  void begin(size_t steps, size_t tensors) {
    rounds_.assign(steps, CopyRounds::all);
    fetched_.assign(tensors, -1);
    stored_.assign(tensors, -1);
    first_has_fewer_ = false;
  }
  void fetch(int32_t step, int32_t tensor) {
    if (const int32_t store = stored_[index(tensor)]; store >= 0 && of(store) == CopyRounds::all_but_last)
      rounds_[index(store)] = CopyRounds::all;
    rounds_[index(step)] = CopyRounds::last;
    fetched_[index(tensor)] = step;
  }
  // A task other than an update accesses the tensor, which is perhaps not fetched by any step. `adds_up`: the tensor is
  // a gradient.
  void access(int32_t tensor, bool adds_up) {
    const int32_t fetch = fetched_[index(tensor)];
    if (fetch < 0 || of(fetch) != CopyRounds::last) return;
    const bool first = adds_up && stored_[index(tensor)] < 0;
    first_has_fewer_ |= first;
    rounds_[index(fetch)] = first ? CopyRounds::all_but_first : CopyRounds::all;
  }
  void store(int32_t step, int32_t tensor, bool adds_up) {
    const int32_t fetch = fetched_[index(tensor)];
    const bool kept = adds_up && fetch >= 0 && of(fetch) != CopyRounds::last;
    rounds_[index(step)] = kept ? CopyRounds::all_but_last : CopyRounds::last;
    stored_[index(tensor)] = step;
  }

  CopyRounds of(int32_t step) const { return rounds_[index(step)]; }
  bool first_has_fewer() const { return first_has_fewer_; }  // the first round runs fewer copies than the others

 private:
  static size_t index(int32_t i) { return static_cast<size_t>(i); }

  std::vector<CopyRounds> rounds_;         // of each step
  std::vector<int32_t> fetched_, stored_;  // of each tensor: its last such step so far, or -1
  bool first_has_fewer_ = false;
};

}  // namespace plimsoll
