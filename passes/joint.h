// Policy `auto` over whole plans of one sub-batch: the frontier of schedules, searched as far as it is asked for, and the plans made
// of it.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

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

// The frontier of one sub-batch, leg by leg (search/frontier.h). Legs may be searched at once, each by one thread, while plans are made of what others have found.
class Joint {
 public:
  // `candidate` must outlive this. No plan's host pool takes more than `host_budget` bytes.
  Joint(const Candidate& candidate, const Policy& policy, int effort, int64_t host_budget = kNoLimit);
  Joint(const Joint&) = delete;

  // What a search of legs begins from. Beyond this call there are legs.
  void begin(const Deadline& deadline);
  size_t legs() const { return legs_.size(); }
  // The first that plans within the budget are looked for in.
  size_t leg_of(int64_t budget_bytes) const { return descent_.leg_of(budget_bytes); }

  // Searches the next stretch of the leg. False: that was its last. Before: it has not ended.
  bool search_on(size_t leg, const Deadline& deadline);
  int64_t searched(size_t leg) const { return static_cast<int64_t>(legs_[leg].searched); }
  bool ended(size_t leg) const { return legs_[leg].ended; }
  // One that has been searched, which stays where it is.
  const search::Stretch& stretch(size_t leg, size_t stretch) const { return legs_[leg].stretches[stretch]; }
  // Lets go of legs that were given up half done: whoever asks for them next has them searched anew. False: a deadline came before there
  // were proper legs, and all of this is of no use any more. Before: nobody searches.
  bool forget_unfinished();

  // The fastest plan of a schedule found whose arena is within the budget, of those made by the deadline; nullopt when there is none
  // faster than `seconds`.
  Result<std::optional<JointPlan>> plan(const search::State& state, int64_t budget_bytes, double seconds, const Deadline& deadline) const;

  // No schedule of this sub-batch, in this order, that keeps `budget_bytes` takes less (search/bound.h).
  double bound_seconds(int64_t budget_bytes);
  // And none that this leg has.
  double bound_seconds_of(size_t leg, int64_t budget_bytes) { return bound_seconds(std::min(budget_bytes, descent_.above(leg))); }
  // What the schedule that needs least needs; kNoLimit: not known.
  int64_t least_bytes() const { return descent_.least_bytes(); }
  // The host budget ruled something out.
  bool host_budget_binds() const { return descent_.pool_binds() || pool_refused_; }

 private:
  struct Leg {
    std::vector<search::Stretch> stretches;  // room for all
    size_t searched = 0;
    bool ended = false, complete = true;
  };

  const Candidate& candidate_;
  Policy policy_;
  schedule::Model model_;
  const int64_t host_budget_, pool_limit_;
  mutable bool pool_refused_ = false;
  std::mutex bounding_;
  search::Bound bound_;  // by whoever has the mutex
  search::Descent descent_;
  std::vector<Leg> legs_;
};

}  // namespace plimsoll
