// plan.json, as docs/plan-format.md states it: what the planner hands to the code generator, the reports and everyone
// outside.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/plan.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Same plan, same bytes; one line per tensor, task, step and residency, so that two plans can be compared with diff.
std::string to_json(const Plan& plan);

// The text may come from anywhere. What is read has ids in range and sizes that are not negative; whether it is a valid
// plan is the checker's to say (compiler/check/check.h).
// Error: invalid_model, with the place: "plan.json: steps[3].waits[0] is 7 when …", "plan.json: is no JSON: line 3, column 7 …".
Result<Plan> plan_from_json(std::string_view text);

}  // namespace plimsoll
