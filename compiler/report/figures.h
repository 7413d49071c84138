// A plan in one row, to be laid beside others: what `plimsoll compare` and `plimsoll frontier` print.
#pragma once

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

// "+12%", "+0.4%", "0%"
std::string format_overhead(double overhead);

// "-" for nothing.
std::string format_bytes_or_dash(int64_t bytes);

// One line of CSV per plan; the fields are named in csv_figures_header(). Seconds with all their digits.
std::string csv_figures_header();
std::string csv_figures(const PlanFigures& figures);

}  // namespace plimsoll
