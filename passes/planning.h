// The state of one request while the planner serves it. planner.cpp runs the stages in turn: budget.h, minimum.h,
// forms.h, considered.h, select_variant.h and rivals.h, or infeasible.h.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "passes/candidate.h"
#include "passes/plan_request.h"

namespace plimsoll {

class Searches;
class Variants;

struct Planning {
  Variants& variants;
  Searches& searches;
  const PlanRequest& request;
  const Policy& policy;
  std::vector<int64_t> sub_batches = {};  // to consider, most samples first (considered.h)
  Deadline deadline = {};
  int64_t host_budget_bytes = kNoLimit;
  int64_t budget_bytes = kNoLimit;
  std::vector<int64_t> limits = {kNoLimit};  // live limits within the budget (recipe.h)
  double one_plan_seconds = 0;               // how long it takes to make one plan

  bool fits_host(const Found& found) const { return found.host_pool() <= host_budget_bytes; }
  bool fits(const Found& found) const { return found.arena() <= budget_bytes && fits_host(found); }
  // Orders plans by memory: a host pool within its budget first, then a small arena.
  std::pair<int64_t, int64_t> memory_of(const Found& found) const {
    return {std::max(found.host_pool(), host_budget_bytes), found.arena()};
  }
};

// The largest and the smallest sub-batch.
inline std::vector<int64_t> ends_of(const std::vector<int64_t>& sizes) {
  return sizes.size() > 1 ? std::vector{sizes.front(), sizes.back()} : sizes;
}

// The smallest plan of a request (minimum.h).
struct Minimum {
  Found whole;                       // weights are updated whole
  std::optional<Found> in_slices{};  // weights are updated slice by slice; nullopt: not smaller
  const Found& least() const { return in_slices ? *in_slices : whole; }
};

// Budgets and options that work, if the smallest plan does not fit.
struct Remedies {
  // The smallest host budget known to work within the device budget. nullopt: the device budget itself is too small, or
  // there is no host budget.
  std::optional<int64_t> host_budget = {};
  // A smaller plan of several rounds, if the batch stays whole only because a task mixes samples.
  std::optional<Found> in_rounds = {};
};

}  // namespace plimsoll
