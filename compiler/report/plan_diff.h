// `plimsoll diff A B`: what changed from one plan to another. Tensors and tasks are matched by name.
#pragma once

#include <string>

#include "compiler/ir/plan.h"
#include "compiler/report/facts.h"

namespace plimsoll {

// Figures side by side, then whose fate changed, then whose algorithm, then what only one of them has. At most kReportWidth
// characters a line. Plans that differ in nothing of this get one sentence.
std::string report_diff(const Plan& before, const Plan& after, bool color);

}  // namespace plimsoll
