// A single plan of a graph. Outside of tests, a planner makes several plans of the graphs that it holds.
#pragma once

#include <algorithm>

#include "passes/planner.h"

namespace plimsoll {

inline Result<Plan> make_plan(const TaskGraph& graph, Costs& costs, const PlanRequest& request) {
  return Planner(graph, costs, std::max<int64_t>(request.batch, 1)).plan(request);
}

}  // namespace plimsoll
