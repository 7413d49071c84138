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

// The same search stretch by stretch, from the schedules that need most to those that need least: who has found what no tighter
// one can beat (bound.h) leaves the rest. What a stretch brings does not depend on who asks, nor on whether more are asked for.
class Descent {
 public:
  // `model` must outlive this.
  Descent(const Model& model, const FrontierOptions& options);
  ~Descent();

  // Of the schedule that needs least, where that is possible(); else kNoLimit.
  int64_t least_bytes() const;

  // What later stretches bring needs no more than this; below 0: they bring nothing.
  int64_t below() const;

  // The schedules of the next stretch, by falling need. Before: below() >= 0. Once a deadline comes in between, this stretch
  // is the last, it brings all there is, and complete() is false.
  std::vector<State> next(const Deadline& deadline = {});
  bool complete() const;
  bool pool_binds() const;  // some schedule was corrected for the host pool's limit

 private:
  class Sweep;
  friend Frontier find_frontier(const Model& model, const FrontierOptions& options);
  std::unique_ptr<Sweep> sweep_;
};

}  // namespace plimsoll::search
