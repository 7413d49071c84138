// Best-first search over sub-batch sizes and their schedules, for the fastest plan within a budget. It expands the
// candidate with the lowest bound, and stops when no bound beats the best plan.
//
//   ms   330      340      350      360      370      380
//   64   |--------------------------------------------------->   infeasible: not searched
//   32   [316 . . . . . . . . . . . . . . . . . . . . . . . . . . 478   [  lower bound (search/bound.h)
//   16      [333 . . . . . . . . . 365                                  365  a schedule, before it has addresses
//   11               [346 . . . . . . . . . . 379
//
// With several threads, the most promising searches run ahead of time. Their results are consumed in the sequential
// order.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>

#include "passes/search/frontier.h"
#include "passes/variants.h"

namespace plimsoll {

// The schedules of one sub-batch under policy `auto`, searched as far as requests have needed them so far.
struct ScheduleSearch {
  // `ordered` must outlive this. The host pool of every schedule takes at most about `host_budget` bytes. `other`:
  // null, or a search of the same model and host budget with another effort. Start schedules are shared with it.
  ScheduleSearch(Ordered& ordered, const Policy& policy, int effort, int64_t host_budget = kNoLimit,
                 const ScheduleSearch* other = nullptr);

  Ordered& ordered;
  const Policy policy;
  const int64_t host_budget, pool_limit;
  // Segments may be searched in parallel, one thread each, while plans are made from finished stretches.
  search::Descent schedules;
  bool pool_refused = false;  // a plan's host pool exceeded its budget
};

// Caches the searches of all graphs of a planner, so that later requests continue them.
class Searches {
 public:
  // Any thread may call this.
  ScheduleSearch& find(Ordered& ordered, const Policy& policy, int effort, int64_t host_budget);
  // Drops what a deadline interrupted. No search may be running.
  void forget_unfinished();

 private:
  std::mutex mutex_;  // guards found_
  // By model, effort and host budget.
  std::map<std::tuple<const Ordered*, int, int64_t>, std::unique_ptr<ScheduleSearch>> found_;
};

struct SelectionLimits {
  int64_t budget_bytes = kNoLimit, host_budget_bytes = kNoLimit;
  int effort = 1;
  std::vector<int> later_efforts = {};  // of the selections that follow: idle threads search with them ahead
  int threads = 1;         // threads to search with (thread_pool.h); the result does not depend on it
  Deadline search = {};    // no schedule search starts after this
  Deadline deadline = {};  // no plan is made from a schedule after this
  // Work for idle threads. Called on one thread at a time, with the seconds that the best plan will probably take,
  // until it returns false. Null: none.
  std::function<bool(double seconds)> idle = nullptr;
};

struct Selection {
  Found best;
  bool host_budget_binds = false;  // the host budget excluded some schedule
  // Lower bound for every plan of these sub-batches in the policy's order; 0: the deadline came before all were
  // measured.
  double bound_seconds = 0;
};

// Returns the fastest plan among the sub-batches `sizes` and `known`, which is within the budget. Only candidates that
// could not win are skipped. So a larger budget never gives a slower plan: it considers what a smaller budget
// considers, or something faster.
Result<Selection> select_variant(Searches& searches, Variants& variants, const Policy& policy,
                                 std::span<const int64_t> sizes, const SelectionLimits& limits, Found known);

// The fastest plan of a schedule whose arena is within the budget, among the plans made before the deadline. nullopt:
// none is faster than `seconds`.
Result<std::optional<Found>> plan_of(ScheduleSearch& search, const search::State& state, int64_t budget_bytes,
                                     double seconds, const Deadline& deadline);

}  // namespace plimsoll
