// The whole trade between memory and time, searched at once: schedules from the one that needs least to the one that takes
// least. A budget only picks from it, so more budget never makes a slower plan.
#pragma once

#include <memory>

#include "passes/search/state.h"

namespace plimsoll::search {

struct FrontierOptions {
  int effort = 1;  // 0 … 3: each does about ten times the work of the one before
  Means means = {};  // fewer, to see what a mean is worth
  Deadline deadline = {};
  int64_t pool_limit = kNoLimit;  // of the host pool (Workbench)
};

struct Frontier {
  std::vector<State> states;  // by rising need; each takes less time than those before it. Never empty
  int64_t work = 0;
  bool complete = true;  // false: the deadline came first
};

// The schedule that needs least: everything that can leaves the device at once, and comes back when it is needed.
// Without copies, or without room for them in the host pool, find_frontier() goes on below it, and it is the best of a few. `bench` has just
// evaluated it.
State least_schedule(Workbench& bench, const Means& means = {});

// For one sub-batch. Deterministic.
Frontier find_frontier(const Model& model, const FrontierOptions& options);

// What one limit, or the way down to it, has brought.
struct Stretch {
  std::vector<State> states = {};  // by falling need
  int64_t below = kNoLimit;  // what comes behind it needs no more than this; below 0: nothing comes
  bool last = false;         // of its leg
  bool complete = true;      // false: a deadline came first
  bool pool_binds = false;   // by then, some schedule has been corrected for the host pool's limit
};

// The same search in legs, from the schedules that need most to those that need least: each leg goes down some limits, one stretch for
// each, and knows nothing of the others. So who has a budget begins with the leg that it lies in; who has found what no tighter
// schedule can beat (bound.h) leaves the rest; and several legs are searched at once by whoever has the hands.
//
//   need     high |--.--.--.--|--.--.--.--|--.--.--.--| least
//                     leg 0       leg 1  ^    leg 2          a budget at ^: leg 1, then leg 2
class Descent {
 public:
  // `model` must outlive this.
  Descent(const Model& model, const FrontierOptions& options);
  ~Descent();

  // Of the schedule that needs least, where that is possible(); else kNoLimit.
  int64_t least_bytes() const;
  bool pool_binds() const;  // that one, or one to begin with, was corrected for the host pool's limit

  // Beyond this call there are legs. What it does is done once.
  void begin(const Deadline& deadline = {});
  bool complete() const;  // false: a deadline came before that was done
  size_t legs() const;
  // Schedules within `limit` are looked for from this leg on.
  size_t leg_of(int64_t limit) const;
  size_t stretches(size_t leg) const;  // at most
  int64_t above(size_t leg) const;     // what it brings needs no more

  // Of the leg, the next one. Legs may be searched at once, each by one thread. Before: it has not ended.
  Stretch next(size_t leg, const Deadline& deadline = {});
  bool ended(size_t leg) const;
  // As if it had never begun.
  void forget(size_t leg);

 private:
  friend Frontier find_frontier(const Model& model, const FrontierOptions& options);
  struct Ground;
  class Leg;
  std::unique_ptr<Ground> ground_;
  std::vector<std::unique_ptr<Leg>> legs_;
};

}  // namespace plimsoll::search
