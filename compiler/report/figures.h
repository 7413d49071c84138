// A plan as one row of a comparison: what `plimsoll compare` and `plimsoll frontier` print.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/plan.h"

namespace plimsoll {

// Per iteration: all rounds. A smaller last round counts with its own samples, in seconds and in what is recomputed.
// Its copies count as those of a full round: the trainer copies the same bytes in every round.
struct PlanFigures {
  int64_t arena_bytes = 0;
  int64_t sub_batch = 0;
  int64_t rounds = 0;
  double iteration_seconds = 0;
  double overhead = 0;           // relative to the unlimited plan: 0.25 means 25 % longer
  int64_t offloaded_bytes = 0;   // device to host
  int64_t prefetched_bytes = 0;  // host to device
  int64_t recomputed_bytes = 0;  // written by recomputed tasks; in a smaller last round its share of the samples
  int64_t recomputed_tasks = 0;
  int64_t moved_bytes() const { return offloaded_bytes + prefetched_bytes; }
};

// `ideal_seconds`: the time of the unlimited plan. Before: ids are in range.
PlanFigures figures_of(const Plan& plan, double ideal_seconds);

// The result of a policy under one budget.
struct PolicyEntry {
  std::string policy = {};
  std::string summary = {};  // the policy in one line
  int64_t least_bytes = 0;  // the minimum budget; 0 if the policy has no plan for this request
  std::optional<PlanFigures> figures = {};
  bool splits_statistics = false;  // batch normalization uses sub-batch statistics, which changes what is trained
  bool fastest = false;
};

struct BudgetEntries {
  std::string text = {};  // as requested: "50%"
  int64_t bytes = 0;
  std::vector<PolicyEntry> entries = {};
};

// One budget between a policy's minimum and the unlimited plan.
struct FrontierPoint {
  int64_t budget = 0;
  PlanFigures figures = {};
  bool splits_statistics = false;
};

// The subject of a comparison or a frontier.
struct Comparison {
  std::string model = {};
  int64_t batch = 0;
  std::string costs = {}, device = {};
  int64_t unconstrained_bytes = 0;
  double unconstrained_seconds = 0;
};

// "+12%", "+0.4%", "0%"
std::string format_overhead(double overhead);

// "-" for zero.
std::string format_bytes_or_dash(int64_t bytes);

// One line of CSV per plan; csv_figures_header() names the fields. Seconds with all digits.
std::string csv_figures_header();
std::string csv_figures(const PlanFigures& figures);

}  // namespace plimsoll
