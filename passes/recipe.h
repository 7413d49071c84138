// Plans under a policy that does not search: the whole batch if it fits, else the fewest rounds that fit.
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
std::vector<int64_t> limits_within(int64_t budget_bytes, int64_t unconstrained_bytes, size_t tasks);

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

  // The unlimited plan: nothing offloaded or recomputed, the fastest algorithms, whatever the policy. With several
  // ranks, the fastest over all orders. At the full batch it is the reference that budgets are measured against.
  Result<Found> unconstrained(int64_t sub_batch);

  // The plan with the smallest arena that the request allows. If no host pool is within its budget, the smallest of
  // those.
  Result<Found> minimum(const Found& unconstrained);

  // The plan of these decisions alone. A live limit of 0 asks for the smallest arena.
  Result<Found> plan(int64_t sub_batch, int64_t live_limit);

  // The plan with the smallest arena among these sub-batches, if below `arena_bytes`; the best so far when the deadline
  // passes. Much cheaper when the answer is nullopt.
  Result<std::optional<Found>> minimum_below(int64_t arena_bytes, std::span<const int64_t> sub_batches,
                                             const Deadline& deadline);

  // The chosen plan within the budget. Before: `minimum` fits.
  Result<Found> choose(const Found& unconstrained, const Found& minimum);

  // The fastest plan that `choose` would give for this or any smaller budget, if it takes less than `seconds`; the best
  // so far when the deadline passes. Much cheaper when the answer is nullopt.
  Result<std::optional<Found>> rival(double seconds, const Deadline& deadline);
  // Computes what rival(seconds) compares before it makes a plan of the first sub-batch within the limit of this
  // number, so that another thread can do it before. False: there are no more limits.
  Result<bool> precompute_rival(size_t number, double seconds);

 private:
  Result<Found> unconstrained(int64_t sub_batch, OrderKind order);
  // As plan(). nullopt: too slow to matter.
  Result<std::optional<Found>> attempt(int64_t sub_batch, int64_t live_limit);
  Result<std::optional<Found>> fit(int64_t sub_batch);
  Result<std::optional<Found>> fit_algorithms(int64_t sub_batch);
  Result<std::optional<Found>> fit_schedule(int64_t sub_batch);
  Result<std::optional<Found>> fewest_rounds();
  Status take_faster(int64_t sub_batch, std::optional<Found>& best);
  // The live limits that rival() tries in turn, each with the most live bytes of a plan within it.
  std::vector<std::pair<int64_t, int64_t>> limits_of_rival() const;
  // The plan with this schedule of the policy. Null: the policy decides now.
  Result<std::optional<Found>> plan_of(std::shared_ptr<const schedule::Program> decided, int64_t sub_batch,
                                       int64_t live_limit, const Ceiling& ceiling);
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
