// `plimsoll diff A B`: what changed from one plan to another. Tensors and tasks are matched by name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/plan.h"
#include "compiler/report/facts.h"

namespace plimsoll {

// A figure of both plans, as it is shown. `change`: "+5%"; empty where there is none or it is no number.
struct DiffFigure {
  std::string what = {}, before = {}, after = {}, change = {};
};

// Changes of one kind, "keep → offload", with names and how large they are, the largest first.
struct DiffGroup {
  std::string change = {};
  int64_t count = 0;
  int64_t bytes = 0;    // of decisions: of the tensors
  double seconds = 0;   // of algorithms: longer by
  std::vector<std::pair<int64_t, std::string>> named = {};
};

struct PlanDifference {
  std::vector<DiffFigure> figures = {};
  bool figures_differ = false;
  std::vector<DiffGroup> decisions = {}, algorithms = {};
  std::vector<std::string> only_before = {}, only_after = {};  // tasks
};
PlanDifference difference_of(const Plan& before, const PlanFacts& facts_before, const Plan& after, const PlanFacts& facts_after);

// Figures side by side, then whose decision changed, then whose algorithm, then what only one of them has. At most kReportWidth
// characters a line. Plans that differ in nothing of this get one sentence.
std::string report_diff(const Plan& before, const Plan& after, bool color);

// The same as a page, with memory over time of both.
std::string diff_page(const Plan& before, const Plan& after);

}  // namespace plimsoll
