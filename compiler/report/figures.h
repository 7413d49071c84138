// A plan in one row, to be laid beside others: what `plimsoll compare` and `plimsoll frontier` print.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/plan.h"

namespace plimsoll {

// Of one iteration: all rounds, of which the last may be smaller than it is counted.
struct PlanFigures {
  int64_t arena_bytes = 0;
  int64_t sub_batch = 0;
  int64_t rounds = 0;
  double iteration_seconds = 0;
  double overhead = 0;           // over the unconstrained plan: 0.25 is a quarter longer
  int64_t offloaded_bytes = 0;   // device to host
  int64_t prefetched_bytes = 0;  // and back
  int64_t recomputed_bytes = 0;  // written by tasks that are run again
  int64_t recomputed_tasks = 0;
  int64_t moved_bytes() const { return offloaded_bytes + prefetched_bytes; }
};

// `ideal_seconds`: what the unconstrained plan takes. Before: ids are in range.
PlanFigures figures_of(const Plan& plan, double ideal_seconds);

// What a policy came to under one budget.
struct PolicyEntry {
  std::string policy = {};
  std::string summary = {};  // what it does, in one line
  int64_t least_bytes = 0;  // the least budget with a plan; 0 where the policy has none for this request
  std::optional<PlanFigures> figures = {};
  bool splits_statistics = false;  // batch normalization sees a sub-batch at a time: something else is trained
  bool fastest = false;
};

struct BudgetEntries {
  std::string text = {};  // as it was asked for: "50%"
  int64_t bytes = 0;
  std::vector<PolicyEntry> entries = {};
};

// One budget on a policy's way from the least to the unconstrained.
struct FrontierPoint {
  int64_t budget = 0;
  PlanFigures figures = {};
  bool splits_statistics = false;
};

// What both are about.
struct Comparison {
  std::string model = {};
  int64_t batch = 0;
  std::string costs = {}, device = {};
  int64_t unconstrained_bytes = 0;
  double unconstrained_seconds = 0;
};

// "+12%", "+0.4%", "0%"
std::string format_overhead(double overhead);

// "-" for nothing.
std::string format_bytes_or_dash(int64_t bytes);

// One line of CSV per plan; the fields are named in csv_figures_header(). Seconds with all their digits.
std::string csv_figures_header();
std::string csv_figures(const PlanFigures& figures);

}  // namespace plimsoll
