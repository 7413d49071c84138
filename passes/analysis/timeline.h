// The event simulator: when does each step run, if the streams run in order each and wait as the plan says? It is
// how plans are compared, never what makes them safe.
#pragma once

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
  middle,  // sub_batch samples, no updates
  last,    // last_sub_batch samples and the updates
};

Timeline simulate_round(const Plan& plan, const Context& context, Round round);

}  // namespace plimsoll
