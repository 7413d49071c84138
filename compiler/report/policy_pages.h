// `plimsoll compare --html` and `plimsoll frontier --html`: pages with plots, self-contained.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/plan.h"
#include "compiler/report/figures.h"

namespace plimsoll {

// Bars for each budget, sorted by time, and with several budgets a line for each policy. Every budget has the same policies, in one order.
std::string compare_page(const Comparison& about, const std::vector<BudgetEntries>& budgets);

// The top of a page. `verdict` is HTML; empty: none.
std::string page_header(const std::string& title, const std::string& verdict, const std::string& subtitle);

// `points` from small to large, never empty; `least` is the plan at the first.
std::string frontier_page(const Plan& least, const std::vector<FrontierPoint>& points);

}  // namespace plimsoll
