// Plans under a policy without a search: the whole batch if it fits, else the fewest rounds that fit. Also the
// unlimited plan of any policy.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "passes/variants.h"

namespace plimsoll {

// The live limits in bytes to try for a policy with a schedule, in descending order. They are whole percents of the
// unlimited arena (fewer for large graphs), independent of the budget. So the limits tried for a small budget are among
// those tried for any larger one.
std::vector<int64_t> limits_within(int64_t budget_bytes, int64_t unlimited_bytes, size_t tasks);

// The constraints of a recipe.
struct RecipeRequest {
  int64_t budget_bytes = kNoLimit, host_budget_bytes = kNoLimit;
  std::vector<int64_t> limits = {};  // from limits_within, within the budget
  int64_t sub_batch = 0;   // 0: the recipe chooses
  bool may_split = true;   // where it chooses
};

class Recipe {
 public:
  // `variants` and `policy` must outlive this.
  Recipe(Variants& variants, const Policy& policy, const RecipeRequest& request)
      : variants_(variants), policy_(policy), request_(request) {}

  // The unlimited plan of any policy: nothing offloaded or recomputed, the fastest algorithms. A policy that searches
  // takes the fastest over all orders where they differ in time. At the full batch this is the reference for budgets in
  // percent.
  Result<Found> unlimited(int64_t sub_batch);

  // The plan with the smallest arena that the request allows. If no host pool is within its budget, the smallest of
  // those.
  Result<Found> minimum(const Found& unlimited);

  // The plan of these decisions alone. A live limit of 0 means the smallest arena.
  Result<Found> plan(int64_t sub_batch, int64_t live_limit);

  // The plan with the smallest arena among these sub-batches, if below `arena_bytes`; the best so far when the deadline
  // passes. Much cheaper when the answer is nullopt.
  Result<std::optional<Found>> minimum_below(int64_t arena_bytes, std::span<const int64_t> sub_batches,
                                             const Deadline& deadline);

  // The chosen plan within the budget. Before: `minimum` fits.
  Result<Found> choose(const Found& unlimited, const Found& minimum);

  // The fastest plan that `choose` would give for this or any smaller budget, if it takes less than `seconds`; the best
  // so far when the deadline passes. Much cheaper when the answer is nullopt.
  Result<std::optional<Found>> rival(double seconds, const Deadline& deadline);
  // Computes and caches the bounds that rival(seconds) reads for its limit with this number, at the first sub-batch, so
  // that an idle thread can do this work ahead. Returns false if there are no more limits.
  Result<bool> precompute_rival(size_t number, double seconds);

 private:
  Result<Found> unlimited(int64_t sub_batch, OrderKind order);
  // As plan(). nullopt: the plan would not be faster than interesting_.
  Result<std::optional<Found>> attempt(int64_t sub_batch, int64_t live_limit);
  Result<std::optional<Found>> fit(int64_t sub_batch);
  Result<std::optional<Found>> fit_algorithms(int64_t sub_batch);
  Result<std::optional<Found>> fit_schedule(int64_t sub_batch);
  Result<std::optional<Found>> fewest_rounds();
  Status take_faster(int64_t sub_batch, std::optional<Found>& best);
  // The live limits that rival() tries in turn.
  std::vector<int64_t> limits_of_rival() const;
  // As plan(). nullopt: the plan reaches the ceiling or takes more than `most_bytes`, as far as known, or its live
  // bytes exceed the limit. Adds what this attempt shows to what is known (Variants::known_of).
  Result<std::optional<Found>> attempt_below(int64_t sub_batch, int64_t live_limit, const Ceiling& ceiling,
                                             int64_t most_bytes = kNoLimit);
  int64_t first_sub_batch() const { return request_.sub_batch == 0 ? variants_.batch() : request_.sub_batch; }
  bool fits_host(const Found& found) const { return found.host_pool() <= request_.host_budget_bytes; }
  bool fits(const Found& found) const { return found.arena() <= request_.budget_bytes && fits_host(found); }

  Variants& variants_;
  const Policy policy_;
  const RecipeRequest request_;
  Deadline deadline_ = {};
  double interesting_ = std::numeric_limits<double>::infinity();  // plans at or above this are not considered
};

}  // namespace plimsoll
