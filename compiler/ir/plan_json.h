// plan.json, as specified in docs/plan-format.md: the interface between the planner, the code generator, the reports
// and external tools.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/plan.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Deterministic; one line per tensor, task, step and residency, so that plans can be compared with diff.
std::string to_json(const Plan& plan);

// Accepts arbitrary text. The result has ids in range and non-negative sizes; the checker decides whether it is a valid
// plan (compiler/check/check.h). Error: invalid_model, with the location: "plan.json: steps[3].waits[0] is 7 when …",
// "plan.json: is no JSON: line 3, column 7 …".
Result<Plan> plan_from_json(std::string_view text);

}  // namespace plimsoll
