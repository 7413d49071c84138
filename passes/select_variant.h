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

#include <span>

#include "passes/variants.h"

namespace plimsoll {

struct SelectionLimits {
  int64_t budget_bytes = kNoLimit, host_budget_bytes = kNoLimit;
  int effort = 1;
  int threads = 1;         // threads to search with (thread_pool.h); the result does not depend on it
  Deadline search = {};    // no schedule search starts after this
  Deadline deadline = {};  // no plan is made from a schedule after this
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
Result<Selection> select_variant(Variants& variants, const Policy& policy, std::span<const int64_t> sizes,
                                 const SelectionLimits& limits, Found known);

// The fastest plan of a schedule whose arena is within the budget, among the plans made before the deadline. nullopt:
// none is faster than `seconds`.
Result<std::optional<Found>> plan_of(ScheduleSearch& search, const search::State& state, int64_t budget_bytes,
                                     double seconds, const Deadline& deadline);

}  // namespace plimsoll
