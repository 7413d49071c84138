// Policy `auto` on whole plans of one sub-batch: searches the frontier of schedules as far as needed, and makes plans
// from it.
#pragma once

#include <mutex>
#include <optional>

#include "passes/found.h"
#include "passes/search/bound.h"
#include "passes/search/frontier.h"

namespace plimsoll {

// The plan of the minimum-memory schedule (search/minimum_schedule.h), and a lower bound on the bytes of any schedule
// (search/bound.h).
struct MinimumPlan {
  Found found;
  int64_t bound_bytes = 0;
};
// The host pool takes at most `host_budget` bytes, unless every schedule tried exceeds it.
Result<MinimumPlan> minimum_plan(const Candidate& candidate, const Policy& policy, int64_t host_budget = kNoLimit);

class Joint {
 public:
  // `candidate` must outlive this. The host pool of every plan takes at most `host_budget` bytes.
  Joint(const Candidate& candidate, const Policy& policy, int effort, int64_t host_budget = kNoLimit);
  Joint(const Joint&) = delete;

  // The frontier. Segments may be searched in parallel, one thread each, while plans are made from finished stretches.
  search::Descent& schedules() { return descent_; }

  // The fastest plan of `state` whose arena is within the budget, among the plans made before the deadline. nullopt:
  // none is faster than `seconds`.
  Result<std::optional<Found>> plan(const search::State& state, int64_t budget_bytes, double seconds,
                                    const Deadline& deadline) const;

  // Lower bound in seconds for every schedule of this sub-batch, in this order, within `budget_bytes` (search/bound.h).
  double bound_seconds(int64_t budget_bytes);
  // The host budget excluded some schedule.
  bool host_budget_binds() const { return descent_.pool_binds() || pool_refused_; }

 private:
  const Candidate& candidate_;
  const Policy policy_;
  const schedule::Model model_;
  const int64_t host_budget_, pool_limit_;
  mutable bool pool_refused_ = false;
  std::mutex bounding_;
  search::Bound bound_;  // guarded by bounding_
  search::Descent descent_;
};

}  // namespace plimsoll
