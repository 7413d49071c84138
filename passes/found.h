// A plan together with its inputs, so that it can be remade for an observer.
#pragma once

#include "passes/candidate.h"

namespace plimsoll {

struct Found {
  Plan plan;
  const Candidate* candidate = nullptr;
  int64_t live_limit = kNoLimit;
  Policy policy = {};  // with the schedule that a search has found, if one has
  double seconds() const { return plan.summary.iteration_seconds; }
  int64_t arena() const { return plan.summary.arena_bytes; }
  int64_t host_pool() const { return plan.summary.host_pool_bytes; }
};

}  // namespace plimsoll
