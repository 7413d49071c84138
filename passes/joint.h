// Policy `auto` over whole plans of one sub-batch: the frontier of schedules, searched as far as it is asked for, and the plans made
// of it.
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
// Its host pool takes at most `host_budget` bytes, unless no schedule that is tried keeps them.
Result<LeastPlan> least_plan(const Candidate& candidate, const Policy& policy, int64_t host_budget = kNoLimit);

class Joint {
 public:
  // `candidate` must outlive this. No plan's host pool takes more than `host_budget` bytes.
  Joint(const Candidate& candidate, const Policy& policy, int effort, int64_t host_budget = kNoLimit);
  Joint(const Joint&) = delete;

  // Searches on for what `found` is to have more of. Before: rest_seconds of some budget is finite.
  void search_on(const Deadline& deadline);
  const std::vector<search::State>& found() const { return found_; }
  // False: a deadline came first, and the frontier may be far from what it would have been.
  bool complete() const { return descent_.complete(); }

  // The fastest plan of a schedule found whose arena is within the budget, of those made by the deadline; nullopt when there is none
  // faster than `seconds`.
  Result<std::optional<JointPlan>> plan(const search::State& state, int64_t budget_bytes, double seconds, const Deadline& deadline) const;

  // No schedule of this sub-batch, in this order, that keeps `budget_bytes` takes less (search/bound.h).
  double bound_seconds(int64_t budget_bytes) { return bound_.seconds(budget_bytes); }
  // And none that has not been found yet; infinite: there is none.
  double rest_seconds(int64_t budget_bytes);
  // What the schedule that needs least needs; kNoLimit: not known.
  int64_t least_bytes() const { return descent_.least_bytes(); }
  // The host budget ruled something out.
  bool host_budget_binds() const { return descent_.pool_binds() || pool_refused_; }

 private:
  const Candidate& candidate_;
  Policy policy_;
  schedule::Model model_;
  const int64_t host_budget_, pool_limit_;
  mutable bool pool_refused_ = false;
  search::Bound bound_;
  search::Descent descent_;
  std::vector<search::State> found_;
};

}  // namespace plimsoll
