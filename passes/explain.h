// Messages that explain why a budget cannot be met.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "passes/context.h"
#include "passes/policies.h"

namespace plimsoll {

// The notes that begin so list what is live at the peak: details that the command line prints with -v only.
inline constexpr std::string_view kLiveAtPeak = "live at the peak: ";

// Error: budget_infeasible. `minimum` is the plan with the smallest arena. `graph` is its graph, accumulating when it
// has several rounds. The notes name the step at the peak and the largest tensors live there, each with its bytes, its
// kind and the reason why it cannot leave. Then come `ways_out`.
Error explain_infeasible(const Plan& minimum, const TaskGraph& graph, const Policy& policy, int64_t budget_bytes,
                         const std::vector<std::string>& ways_out);

// Error: budget_infeasible, when a larger host budget would help.
struct HostBudgetTooSmall {
  std::string_view name, policy = {};
  int64_t budget_bytes = kNoLimit, host_budget_bytes = 0;
  std::string_view host_budget_source = {};  // "" if the user set it
  int64_t working_host_budget = 0;  // bytes; feasible together with budget_bytes
  int64_t minimum_arena_bytes = 0;    // bytes; feasible together with host_budget_bytes; 0: none is
};
Error explain_host_budget(const HostBudgetTooSmall& found);

}  // namespace plimsoll
