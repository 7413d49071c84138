// `plimsoll compare --html` and `plimsoll frontier --html`: pages with plots, self-contained.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/plan.h"
#include "compiler/report/figures.h"

namespace plimsoll {

// Bars for each budget, and with several budgets a line for each policy. Every budget has the same policies, in one order.
std::string compare_page(const Comparison& about, const std::vector<BudgetEntries>& budgets);

// `points` from small to large, never empty; `least` is the plan at the first.
std::string frontier_page(const Plan& least, const std::vector<FrontierPoint>& points);

}  // namespace plimsoll
