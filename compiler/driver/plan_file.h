// Reads plans, and reports plans that the checker refused.
#pragma once

#include <string>
#include <vector>

#include "compiler/check/check.h"
#include "compiler/ir/plan.h"
#include "compiler/support/status.h"

namespace plimsoll {

// `path`: a plan.json, or a generated directory that contains one.
Result<Plan> read_plan(const std::string& path);

Error refusal(const Plan& plan, const std::vector<Violation>& violations);

}  // namespace plimsoll
