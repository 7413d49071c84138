// Planning that continues between two passes on the plan (--from with a dump of the plan).
#pragma once

#include <map>
#include <string>

#include "compiler/driver/request.h"
#include "compiler/ir/unfinished_plan.h"
#include "compiler/support/status.h"

namespace plimsoll {

// The flags that the choice of a plan depends on, and that neither the task graph nor the costs show, with their
// values. A dump states them.
std::map<std::string, std::string> planning_flags(const PlanningRequest& asked, const OnePlanRequest& one);

struct BegunPlan {
  std::string from;  // the dump
  UnfinishedPlan plan;
  PlanningRequest asked;  // for the model, with the sizes of the plan, and no longer from a dump
};

// Whether the path is a dump of a plan between two passes. False if unreadable.
bool is_begun_plan(const std::string& path);

// Reads the plan of `asked.from`. Its task graph and its costs come from the model, by the same flags as when it was
// written. Errors: usage, if a flag had another value then, or if there is no model; those of the parser.
Result<BegunPlan> begin_in_plan(const PlanningRequest& asked, const OnePlanRequest& one);

}  // namespace plimsoll
