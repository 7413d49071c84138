// `plimsoll inspect --html`: a plan as one self-contained page. A pure function of the plan and, if present, of a
// measured round; the same plan gives the same bytes.
#pragma once

#include <string>

#include "compiler/ir/plan.h"
#include "compiler/report/facts.h"
#include "compiler/report/trace.h"

namespace plimsoll {

// The page draws memory over time, the arena's addresses over time, the streams and the layers (compiler/report/html/).
// It is under 5 MB for plans of 100,000 tensors. `measured` may be null.
std::string plan_page(const Plan& plan, const PlanFacts& facts, const MeasuredSteps* measured);

// The data of that page as JSON, before packing; data.js defines how columns are read.
std::string plan_page_data(const Plan& plan, const PlanFacts& facts, const MeasuredSteps* measured);

}  // namespace plimsoll
