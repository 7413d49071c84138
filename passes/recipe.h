// Plans under a policy without a search: the whole batch if it fits, else the fewest rounds that fit. Also the
// unlimited plan of any policy.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "passes/planning.h"
#include "passes/variants.h"

namespace plimsoll {

// The live limits in bytes to try for a policy with a schedule, in descending order. They are whole percents of the
// unlimited arena (fewer for large graphs), independent of the budget. So the limits tried for a small budget are among
// those tried for any larger one.
std::vector<int64_t> limits_within(int64_t budget_bytes, int64_t unlimited_bytes, size_t tasks);

class Recipe {
 public:
  // `planning` must outlive this. `policy` replaces that of `planning`.
  Recipe(const Planning& planning, const Policy& policy)
      : planning_(planning), variants_(planning.variants), policy_(policy) {}

  // The unlimited plan of any policy: nothing offloaded or recomputed, the fastest algorithms. A policy that searches
  // takes the fastest over all orders where they differ in time. At the full batch this is the reference for budgets in
  // percent.
  Result<Found> unlimited(int64_t sub_batch) const;

  // The plan with the smallest arena that the request allows. For the whole batch, the unlimited plan is among them.
  // For a sub-batch that the request names, it is among them only if the policy's own plan exceeds the host budget.
  Result<Found> minimum(const Found& unlimited) const;

  // The plan of these decisions alone. A live limit of 0 means the smallest arena.
  Result<Found> plan(int64_t sub_batch, int64_t live_limit) const;

  // The plan with the smallest arena among these sub-batches, if below `arena_bytes`; the best so far when the deadline
  // passes. Much cheaper when the answer is nullopt.
  Result<std::optional<Found>> minimum_below(int64_t arena_bytes, std::span<const int64_t> sub_batches,
                                             const Deadline& deadline) const;

  // The chosen plan within the budget. Before: `minimum` fits.
  Result<Found> choose(const Found& unlimited, const Found& minimum) const;

  // The fastest plan that `choose` would give for this or any smaller budget, if it takes less than `seconds`; the best
  // so far when the deadline passes. Much cheaper when the answer is nullopt.
  Result<std::optional<Found>> rival(double seconds, const Deadline& deadline) const;
  // The live limits that rival() tries in turn under a policy with a schedule.
  std::vector<int64_t> limits_of_rival() const;
  // Computes and caches the bounds that rival(seconds) reads for this limit, at the first sub-batch, so that an idle
  // thread can do this work ahead.
  Status precompute_rival(int64_t live_limit, double seconds) const;

 private:
  Result<Found> unlimited(int64_t sub_batch, OrderKind order) const;
  // The best plan of this sub-batch within the budget. It exceeds the budget if nothing helps.
  Result<Found> fit(int64_t sub_batch) const;
  Result<Found> fit_schedule(int64_t sub_batch) const;
  // As fit(). nullopt: the plan reaches the ceiling.
  Result<std::optional<Found>> fit_algorithms(int64_t sub_batch, const Ceiling& ceiling) const;
  Result<Found> fewest_rounds(const Found& minimum) const;
  // Lowers the ceiling to the seconds of `best`.
  Status take_faster(int64_t sub_batch, Ceiling& ceiling, std::optional<Found>& best) const;
  // As plan(). nullopt: the plan reaches the ceiling or takes more than `most_bytes`, as far as known, or its live
  // bytes exceed the limit. Adds what this attempt shows to what is known (Variants::known_of).
  Result<std::optional<Found>> attempt_below(int64_t sub_batch, int64_t live_limit, const Ceiling& ceiling,
                                             int64_t most_bytes = kNoLimit) const;
  int64_t first_sub_batch() const { return planning_.sub_batches.front(); }
  bool chooses_rounds() const { return planning_.sub_batches.size() > 1; }

  const Planning& planning_;
  Variants& variants_;
  const Policy policy_;
};

}  // namespace plimsoll
