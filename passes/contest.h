// The fastest plan within a budget, of all ways to split the batch and of all schedules: a search that looks at the most promising
// first, and at nothing that cannot win any more.
//
//   ms   330      340      350      360      370      380
//   64   |--------------------------------------------------->   does not fit: nothing to look for
//   32   [316 . . . . . . . . . . . . . . . . . . . . . . . . . . 478       [  what none of it goes below (search/bound.h)
//   16      [333 . . . . . . . . . 365                                      365  a schedule found, before it has addresses
//   11               [346 . . . . . . . . . . 379
//
// With several hands, what is most promising is searched ahead: it is used, or left, as if it had been searched when its turn came.
#pragma once

#include <span>

#include "passes/found.h"
#include "passes/splits.h"

namespace plimsoll {

struct ContestRules {
  int64_t budget_bytes = kNoLimit, host_budget_bytes = kNoLimit;
  int effort = 1;
  int hands = 1;  // threads that look (crew.h): the winner does not depend on them
  Deadline search = {};    // when to find no more schedules
  Deadline deadline = {};  // when to make no more plans of them
};

struct Winner {
  Found best;
  bool host_budget_binds = false;  // without it there would have been other schedules
  double bound_seconds = 0;  // that no plan of these splits, in the policy's order, goes below; 0: a deadline came before all were measured
};

// Of the sub-batches `sizes` and of `known`, which is within the budget. What is left out could not have won, so a larger budget
// never makes a slower plan: it looks at what a smaller one looks at, or at something faster.
Result<Winner> hold_contest(Splits& splits, const Policy& policy, std::span<const int64_t> sizes, const ContestRules& rules, Found known);

}  // namespace plimsoll
