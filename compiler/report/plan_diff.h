// `plimsoll diff A B`: what changed between two plans. Tensors and tasks are matched by name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/plan.h"
#include "compiler/report/facts.h"

namespace plimsoll {

// One figure of both plans, as it is shown. `change`: "+5%"; empty if nothing changed or it is not a number.
struct DiffFigure {
  std::string what = {}, before = {}, after = {}, change = {};
};

// Changes of one kind, "keep → offload", with names and sizes, the largest first.
struct DiffGroup {
  std::string change = {};
  int64_t count = 0;
  int64_t bytes = 0;    // for decisions: of the tensors
  double seconds = 0;   // for algorithms: the additional time
  std::vector<std::pair<int64_t, std::string>> named = {};
};

struct PlanDifference {
  std::vector<DiffFigure> figures = {};
  bool figures_differ = false;
  std::vector<DiffGroup> decisions = {}, algorithms = {};
  std::vector<std::string> only_before = {}, only_after = {};  // tasks
};
PlanDifference difference_of(const Plan& before, const PlanFacts& facts_before, const Plan& after,
                             const PlanFacts& facts_after);

// Figures side by side, then changed decisions, then changed algorithms, then tasks that only one plan has. At most
// kReportWidth characters per line. If nothing differs, one sentence.
std::string report_diff(const Plan& before, const Plan& after, bool color);

// The same as a page, with memory over time of both plans.
std::string diff_page(const Plan& before, const Plan& after);

}  // namespace plimsoll
