// Converts a plan between two passes to data, which --dump writes, and completes such a plan, for --from.
#pragma once

#include "compiler/ir/unfinished_plan.h"
#include "passes/variants.h"

namespace plimsoll {

// The inputs of the passes that made `found`. The caller adds the plan and the last pass, and drops the schedule of a
// search after kSchedulePass.
UnfinishedPlan unfinished_of(const Found& found, const SearchFigures& figures);

// After this pass, the plan holds the schedule.
inline constexpr std::string_view kSchedulePass = "schedule";

// Runs the passes after `unfinished.after`, until the observer stops them.
//
// Errors: invalid_model, for an unknown pass, policy, order or choice of algorithms. verification_failed, if the task
// graph or the costs are not those of the plan, or if the plan breaks the promise of a pass that has run.
Result<Plan> resume(Variants& variants, const UnfinishedPlan& unfinished, const PassObserver& observe);

}  // namespace plimsoll
