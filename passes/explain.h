// Why a budget cannot be met, for people.
#pragma once

#include <string>
#include <vector>

#include "passes/context.h"
#include "passes/policies.h"

namespace plimsoll {

// budget_infeasible. `least` is the plan with the smallest arena, of `graph` (accumulating, when it has several
// rounds). Notes: the step at the peak, what is live there with bytes, kind and why it cannot leave; then `ways_out`.
Error explain_infeasible(const Plan& least, const TaskGraph& graph, const Policy& policy, int64_t budget_bytes,
                         const std::vector<std::string>& ways_out);

}  // namespace plimsoll
