// `plimsoll compare --html` and `plimsoll frontier --html`: self-contained pages with charts.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/plan.h"
#include "compiler/report/figures.h"

namespace plimsoll {

// Bars for each budget, sorted by time; with several budgets also a line for each policy. Every budget has the same
// policies in the same order.
std::string compare_page(const Comparison& about, const std::vector<BudgetEntries>& budgets);

// The top of a page. `verdict` is HTML; empty: none.
std::string page_header(const std::string& title, const std::string& verdict, const std::string& subtitle);

// `points` sorted by budget, never empty; `least` is the plan of the first.
std::string frontier_page(const Plan& least, const std::vector<FrontierPoint>& points);

}  // namespace plimsoll
