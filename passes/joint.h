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
struct MinimumPlan {
  JointPlan joint;
  int64_t bound_bytes = 0;
};
// The host pool takes at most `host_budget` bytes, unless every schedule tried exceeds it.
Result<MinimumPlan> minimum_plan(const Candidate& candidate, const Policy& policy, int64_t host_budget = kNoLimit);

// The frontier of one sub-batch, searched in segments (search/frontier.h). Segments may be searched in parallel, one
// thread each, while plans are made from finished stretches.
class Joint {
 public:
  // `candidate` must outlive this. The host pool of every plan takes at most `host_budget` bytes.
  Joint(const Candidate& candidate, const Policy& policy, int effort, int64_t host_budget = kNoLimit);
  Joint(const Joint&) = delete;

  // Prepares the starting points of the search. segments() is valid after this call.
  void begin(const Deadline& deadline);
  size_t segments() const { return segments_.size(); }
  // The first segment that can hold plans within the budget.
  size_t segment_of(int64_t budget_bytes) const { return descent_.segment_of(budget_bytes); }

  // Searches the next stretch of the segment. Returns false if it was the last. Requires !ended(segment).
  bool search_on(size_t segment, const Deadline& deadline);
  int64_t searched(size_t segment) const { return static_cast<int64_t>(segments_[segment].searched); }
  bool ended(size_t segment) const { return segments_[segment].ended; }
  // A stretch that has been searched. The reference stays valid.
  const search::Stretch& stretch(size_t segment, size_t stretch) const { return segments_[segment].stretches[stretch]; }
  // Drops segments that were interrupted; they are searched anew on the next request. Returns false if a deadline came
  // before the segments were set up: this object is then useless. No search may be running.
  bool forget_unfinished();

  // The fastest plan of `state` whose arena is within the budget, among the plans made before the deadline. nullopt:
  // none is faster than `seconds`.
  Result<std::optional<JointPlan>> plan(const search::State& state, int64_t budget_bytes, double seconds,
                                        const Deadline& deadline) const;

  // Lower bound in seconds for every schedule of this sub-batch, in this order, within `budget_bytes` (search/bound.h).
  double bound_seconds(int64_t budget_bytes);
  // The same, restricted to the schedules of one segment.
  double bound_seconds_of(size_t segment, int64_t budget_bytes) {
    return bound_seconds(std::min(budget_bytes, descent_.above(segment)));
  }
  // Bytes of the minimum-memory schedule; kNoLimit: unknown.
  int64_t minimum_bytes() const { return descent_.minimum_bytes(); }
  // The host budget excluded some schedule.
  bool host_budget_binds() const { return descent_.pool_binds() || pool_refused_; }

 private:
  struct Segment {
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
  std::vector<Segment> segments_;
};

}  // namespace plimsoll
