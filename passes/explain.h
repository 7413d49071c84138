// Why a budget cannot be met, for people.
#pragma once

#include <string>
#include <vector>

#include "passes/context.h"
#include "passes/policies.h"

namespace plimsoll {

// budget_infeasible. `least` is the plan with the smallest arena, of `graph` (accumulating, when it has several
// rounds). Notes: the step at the peak, the largest of what is live there with bytes, kind and why it cannot leave; then `ways_out`.
Error explain_infeasible(const Plan& least, const TaskGraph& graph, const Policy& policy, int64_t budget_bytes,
                         const std::vector<std::string>& ways_out);

// budget_infeasible, where a larger host budget would do.
struct HostBudgetTooSmall {
  std::string_view name, policy = {};
  int64_t budget_bytes = kNoLimit, host_budget_bytes = 0;
  std::string_view host_budget_source = {};  // "" where it was asked for
  int64_t working_host_budget = 0;  // with this budget
  int64_t least_arena_bytes = 0;    // with this host budget; 0: there is no plan, whatever the budget
};
Error explain_host_budget(const HostBudgetTooSmall& found);

}  // namespace plimsoll
