// When each step of a plan runs, by the event simulator (compiler/ir/streams.h): each stream runs in order and waits as
// the plan says.
#pragma once

#include <algorithm>

#include "compiler/ir/streams.h"
#include "passes/context.h"

namespace plimsoll {

struct Timeline {
  IdVector<StepId, TimeSpan> spans = {};  // from the beginning of the round
  double seconds = 0;                     // duration of the round, all streams joined
  double stall_seconds = 0;               // compute stream idle, waiting for a copy or a reduction
  double reduce_seconds = 0;              // comm stream busy
};

enum class Round {
  only,    // the iteration has one round: everything runs
  first,   // sub_batch samples, no updates; gradients start from zero
  middle,  // the same, but gradients accumulate on those of earlier rounds
  last,    // last_sub_batch samples and the updates
};

inline bool has_updates(Round round) { return round == Round::only || round == Round::last; }
inline bool has_copy(Round round, CopyRounds rounds) {
  return round == Round::only || has_copy(rounds, round == Round::first, round == Round::last);
}

// Before: the steps and the algorithm of each are decided. A step waits for its data, and as the plan says.
Timeline simulate_round(const Plan& plan, const Context& context, Round round);

// Seconds of an iteration. Before sync, steps wait for their data only, never for the reuse of bytes. Placement and
// sync only add waits, so the finished plan takes at least this long.
double least_iteration_seconds(const Plan& plan, const Context& context);

// Calls body(round, times) for each kind of round of an iteration.
template <class Body>
void for_each_round(const Plan& plan, Body&& body) {
  if (plan.rounds == 1) return body(Round::only, int64_t{1});
  // The first round differs from the middle ones only in these copies.
  const int64_t first = std::ranges::count(plan.steps, CopyRounds::all_but_first, &Step::rounds) > 0 ? 1 : 0;
  if (first > 0) body(Round::first, first);
  if (plan.rounds - 1 > first) body(Round::middle, plan.rounds - 1 - first);
  body(Round::last, int64_t{1});
}

}  // namespace plimsoll
