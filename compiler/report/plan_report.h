// What `plimsoll inspect` says of a plan: its figures beside the budget, the step at the peak with what is live there and
// why, and the layers. Pure functions of the plan; at most kReportWidth characters a line.
#pragma once

#include <cstddef>
#include <string>

#include "compiler/ir/plan.h"

namespace plimsoll {

// Before: ids are in range, as plan_from_json() gives them.
std::string report_summary(const Plan& plan, bool color);

// The step of summary.peak_step and the `most` largest of what is live there. Empty for a plan without steps.
std::string report_peak(const Plan& plan, bool color, size_t most = 10);

// One line per layer, in the order of the tasks.
std::string report_layers(const Plan& plan, bool color);

// All three, with blank lines between.
std::string report_plan(const Plan& plan, bool color);

}  // namespace plimsoll
