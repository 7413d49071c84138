// The plan of a policy that does not search: the whole batch where it fits, else the fewest rounds that do.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "passes/found.h"
#include "passes/splits.h"

namespace plimsoll {

// For how many bytes a policy with a schedule may be asked within a budget, from high to low. They are shares of the
// unconstrained arena: whole percents, fewer of them for large graphs, and know no budget. So what such a policy makes of a
// small budget is among what it makes of the limits within any larger one.
std::vector<int64_t> limits_within(int64_t budget_bytes, int64_t unconstrained_bytes, size_t tasks);

// What a recipe may choose from.
struct RecipeRequest {
  int64_t budget_bytes = kNoLimit, host_budget_bytes = kNoLimit;
  std::vector<int64_t> limits = {};  // within the budget, of limits_within
  int64_t sub_batch = 0;   // 0: the recipe chooses
  bool may_split = true;   // where it chooses
  Deadline deadline = {};  // of rival and least_below: what they have by then
};

class Recipe {
 public:
  // Both must outlive this.
  Recipe(Splits& splits, const Policy& policy, const RecipeRequest& request)
      : splits_(splits), policy_(policy), request_(request) {}

  // Nothing moved, nothing run again, the fastest algorithms, whatever the policy; of several ranks the fastest of all orders. At the
  // full batch it is what all budgets are measured against.
  Result<Found> unconstrained(int64_t sub_batch);

  // The smallest arena that the request allows. Where no host pool is within its budget, the smallest of these.
  Result<Found> least(const Found& unconstrained);

  // And the smallest of rounds of one sample.
  Result<Found> least_of_one_sample() { return make(1, 0); }

  // What needs least of these sub-batches, if it needs less than `arena_bytes`; much sooner said where it does not.
  Result<std::optional<Found>> least_below(int64_t arena_bytes, std::span<const int64_t> sub_batches);

  // Within the budget. Before: `least` is.
  Result<Found> choose(const Found& unconstrained, const Found& least);

  // The fastest of all that `choose` would give for this or a smaller budget, if it takes less than `seconds`; much sooner
  // said where it does not.
  Result<std::optional<Found>> rival(double seconds);

 private:
  Result<Found> unconstrained(int64_t sub_batch, OrderKind order);
  Result<Found> make(int64_t sub_batch, int64_t live_limit);
  // The same; nullopt: too slow to be of interest.
  Result<std::optional<Found>> attempt(int64_t sub_batch, int64_t live_limit);
  Result<std::optional<Found>> fit(int64_t sub_batch);
  Result<std::optional<Found>> fit_algorithms(int64_t sub_batch);
  Result<std::optional<Found>> fit_schedule(int64_t sub_batch);
  Result<std::optional<Found>> fewest_rounds();
  Status take_faster(int64_t sub_batch, std::optional<Found>& best);
  int64_t first_sub_batch() const { return request_.sub_batch == 0 ? splits_.batch() : request_.sub_batch; }
  bool fits_host(const Found& found) const { return found.host_pool() <= request_.host_budget_bytes; }
  bool fits(const Found& found) const { return found.arena() <= request_.budget_bytes && fits_host(found); }

  Splits& splits_;
  const Policy policy_;
  RecipeRequest request_;
  double interesting_ = std::numeric_limits<double>::infinity();  // seconds below which a plan is
};

}  // namespace plimsoll
