// Policy `auto` over whole plans of one sub-batch: the frontier of schedules, searched once, and the plans made of it.
#pragma once

#include <optional>

#include "passes/candidate.h"
#include "passes/search/bound.h"
#include "passes/search/frontier.h"

namespace plimsoll {

// A plan of the frontier, and what led to it, so that it can be made once more for an observer.
struct JointPlan {
  Plan plan;
  int64_t live_limit = kNoLimit;
  schedule::Trace decided;
};

// The plan of the schedule that needs least (search/frontier.h), and what none can go below (search/bound.h).
struct LeastPlan {
  JointPlan joint;
  int64_t bound_bytes = 0;
};
Result<LeastPlan> least_plan(const Candidate& candidate, const Policy& policy);

class Joint {
 public:
  // `candidate` must outlive this.
  Joint(const Candidate& candidate, const Policy& policy, int effort, const Deadline& deadline = {});

  // False: the deadline came first, and the frontier may be far from what it would have been.
  bool complete() const { return frontier_.complete; }

  // The fastest plan whose arena is within the budget, of those made by the deadline; nullopt when there is none faster than
  // `seconds`.
  Result<std::optional<JointPlan>> fastest(int64_t budget_bytes, double seconds, const Deadline& deadline = {}) const;
  // No schedule of this sub-batch, in this order, that keeps `budget_bytes` takes less (search/bound.h).
  double bound_seconds(int64_t budget_bytes) const { return search::bound_seconds(model_, budget_bytes); }

 private:
  const Candidate& candidate_;
  Policy policy_;
  schedule::Model model_;
  search::Frontier frontier_;
};

}  // namespace plimsoll
