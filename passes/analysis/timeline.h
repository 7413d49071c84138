// The event simulator: when does each step run, if the streams run in order each and wait as the plan says? It is
// how plans are compared, never what makes them safe.
#pragma once

#include <algorithm>
#include <vector>

#include "passes/context.h"

namespace plimsoll {

struct Timeline {
  std::vector<double> start = {};  // of each step, seconds from the beginning of the round
  std::vector<double> end = {};
  double seconds = 0;              // of the round: all streams joined
  double stall_seconds = 0;        // compute stream idle, waiting for a copy or a reduction
  double reduce_seconds = 0;       // comm stream busy
};

enum class Round {
  only,    // the iteration has one round: everything runs
  first,   // sub_batch samples, no updates; gradients begin with zeros
  middle,  // the same, and gradients go on from the rounds before
  last,    // last_sub_batch samples and the updates
};

Timeline simulate_round(const Plan& plan, const Context& context, Round round);

// body(round, times) for the rounds of an iteration, by kinds.
template <class Body>
void for_each_round(const Plan& plan, Body&& body) {
  if (plan.rounds == 1) return body(Round::only, int64_t{1});
  const IdVector<StepId, CopyRounds> copies = plan.copy_rounds();
  const int64_t first = std::count(copies.begin(), copies.end(), CopyRounds::all_but_first) > 0 ? 1 : 0;  // else it is like all others
  if (first > 0) body(Round::first, first);
  if (plan.rounds - 1 > first) body(Round::middle, plan.rounds - 1 - first);
  body(Round::last, int64_t{1});
}

}  // namespace plimsoll
