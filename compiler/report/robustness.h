// How much a plan owes to its predictions: it is simulated again with other times than those it was made for. What waits for what stays
// as it is, so this is what a trainer of this plan would take where costs were measured wrong, or a clock or a link is slower that day.
#pragma once

#include "compiler/ir/plan.h"

namespace plimsoll {

inline constexpr double kSpread = 0.2;  // of the times: from so much less to so much more

// Iterations, over the predicted one: 0.03 is 3 % longer.
struct Robustness {
  double slower_links = 0;  // all copies and reductions take longer by the spread
  double slower_tasks = 0;  // all tasks do
  double by_chance = 0;     // each step takes a time of its own within it: the slowest of several draws, the same for every plan of so many steps
  bool has_links = false;   // else nothing is copied or reduced
};

// Of predictions as the plan has them: of one round with all its steps. An iteration of several is put together of it, its last round shorter
// by what it has less of samples.
Robustness robustness_of(const Plan& plan);

// "robust to ±20 %: +3.1 %": the worst of what a plan can be blamed for. That slower tasks take longer is no fault of a plan's.
double worst_of(const Robustness& robustness);

}  // namespace plimsoll
