// `plimsoll inspect --html`: a plan as one page, with everything it needs inside. Pure function of the plan and, where there
// is one, of a measured round; same plan, same bytes.
#pragma once

#include <string>

#include "compiler/ir/plan.h"
#include "compiler/report/facts.h"
#include "compiler/report/trace.h"

namespace plimsoll {

// The page draws: memory over time, the arena's addresses over time, the streams, the layers (compiler/report/html/).
// Under 5 MB for plans of 100,000 tensors. `measured` may be null.
std::string plan_page(const Plan& plan, const PlanFacts& facts, const MeasuredSteps* measured);

// The data of that page as JSON, before it is packed; data.js says how columns are read.
std::string plan_page_data(const Plan& plan, const PlanFacts& facts, const MeasuredSteps* measured);

}  // namespace plimsoll
