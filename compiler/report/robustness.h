// How much a plan depends on its predictions: it is simulated with other times than those it was made for. Dependencies
// do not change, so the result is the time of this plan if costs were mispredicted, or if a clock or a link is slower.
#pragma once

#include "compiler/ir/plan.h"

namespace plimsoll {

inline constexpr double kSpread = 0.2;  // times vary by this fraction, up and down

// Iteration times relative to the prediction: 0.03 means 3 % longer.
struct Robustness {
  double slower_links = 0;  // all copies and reductions are slower by kSpread
  double slower_tasks = 0;  // all tasks are slower by kSpread
  // each step varies randomly within kSpread: the slowest of several draws, which depend only on the number of steps
  double by_chance = 0;
  bool has_links = false;   // false: nothing is copied or reduced
};

// From the plan's predictions for one round with all its steps. An iteration of several rounds is composed from it; the
// last round is shortened in proportion to its samples.
Robustness robustness_of(const Plan& plan);

// "robust to ±20 %: +3.1 %": the worst case that the plan is responsible for. A uniform slowdown of tasks is excluded,
// because it says nothing about the plan.
double worst_of(const Robustness& robustness);

}  // namespace plimsoll
