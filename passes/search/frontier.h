// The whole trade between memory and time, searched at once: schedules from the one that needs least to the one that takes
// least. A budget only picks from it, so more budget never makes a slower plan.
#pragma once

#include "passes/search/state.h"

namespace plimsoll::search {

struct FrontierOptions {
  int effort = 1;  // 0 … 3: each does about ten times the work of the one before
  Means means = {};  // fewer, to see what a mean is worth
  Deadline deadline = {};
};

struct Frontier {
  std::vector<State> states;  // by rising need; each takes less time than those before it. Never empty
  int64_t work = 0;
  bool complete = true;  // false: the deadline came first
};

// The schedule that needs least: everything that can leaves the device at once, and comes back when it is needed.
State least_schedule(Workbench& bench, const Means& means = {});

// For one sub-batch. Deterministic.
Frontier find_frontier(const Model& model, const FrontierOptions& options);

}  // namespace plimsoll::search
