// Policy `auto` on whole plans of one sub-batch: searches the frontier of schedules as far as needed, and makes plans
// from it.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "passes/candidate.h"
#include "passes/search/bound.h"
#include "passes/search/frontier.h"

namespace plimsoll {

// A plan of the frontier with its inputs, so that it can be remade for an observer.
struct JointPlan {
  Plan plan;
  int64_t live_limit = kNoLimit;
  schedule::Trace decided;
};

// The plan of the minimum-memory schedule (search/frontier.h), and a lower bound on the bytes of any schedule
// (search/bound.h).
struct LeastPlan {
  JointPlan joint;
  int64_t bound_bytes = 0;
};
// The host pool takes at most `host_budget` bytes, unless every schedule tried exceeds it.
Result<LeastPlan> least_plan(const Candidate& candidate, const Policy& policy, int64_t host_budget = kNoLimit);

// The frontier of one sub-batch, searched in segments (search/frontier.h). Segments may be searched in parallel, one
// thread each, while plans are made from finished stretches.
class Joint {
 public:
  // `candidate` must outlive this. The host pool of every plan takes at most `host_budget` bytes.
  Joint(const Candidate& candidate, const Policy& policy, int effort, int64_t host_budget = kNoLimit);
  Joint(const Joint&) = delete;

  // Prepares the starting points of the search. legs() is valid after this call.
  void begin(const Deadline& deadline);
  size_t legs() const { return legs_.size(); }
  // The first segment that can hold plans within the budget.
  size_t leg_of(int64_t budget_bytes) const { return descent_.leg_of(budget_bytes); }

  // Searches the next stretch of the segment. Returns false if it was the last. Requires !ended(leg).
  bool search_on(size_t leg, const Deadline& deadline);
  int64_t searched(size_t leg) const { return static_cast<int64_t>(legs_[leg].searched); }
  bool ended(size_t leg) const { return legs_[leg].ended; }
  // A stretch that has been searched. The reference stays valid.
  const search::Stretch& stretch(size_t leg, size_t stretch) const { return legs_[leg].stretches[stretch]; }
  // Drops segments that were interrupted; they are searched anew on the next request. Returns false if a deadline came
  // before the segments were set up: this object is then useless. No search may be running.
  bool forget_unfinished();

  // The fastest plan of `state` whose arena is within the budget, among the plans made before the deadline. nullopt:
  // none is faster than `seconds`.
  Result<std::optional<JointPlan>> plan(const search::State& state, int64_t budget_bytes, double seconds, const Deadline& deadline) const;

  // Lower bound in seconds for every schedule of this sub-batch, in this order, within `budget_bytes` (search/bound.h).
  double bound_seconds(int64_t budget_bytes);
  // The same, restricted to the schedules of one segment.
  double bound_seconds_of(size_t leg, int64_t budget_bytes) { return bound_seconds(std::min(budget_bytes, descent_.above(leg))); }
  // Bytes of the minimum-memory schedule; kNoLimit: unknown.
  int64_t least_bytes() const { return descent_.least_bytes(); }
  // The host budget excluded some schedule.
  bool host_budget_binds() const { return descent_.pool_binds() || pool_refused_; }

 private:
  struct Leg {
    std::vector<search::Stretch> stretches;  // reserved in full, so references stay valid
    size_t searched = 0;
    bool ended = false, complete = true;
  };

  const Candidate& candidate_;
  Policy policy_;
  schedule::Model model_;
  const int64_t host_budget_, pool_limit_;
  mutable bool pool_refused_ = false;
  std::mutex bounding_;
  search::Bound bound_;  // guarded by bounding_
  search::Descent descent_;
  std::vector<Leg> legs_;
};

}  // namespace plimsoll
