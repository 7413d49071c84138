// A plan between two passes as data, and back: what --dump writes of the chosen plan, and --from continues from.
#pragma once

#include "compiler/ir/unfinished_plan.h"
#include "passes/variants.h"

namespace plimsoll {

// What the passes of this plan read, except for the plan itself and the pass that has run. The schedule of a search is
// among it until the pass that writes it into the plan.
UnfinishedPlan unfinished_of(const Found& found, const SearchFigures& figures);

// After this pass, the plan holds the schedule.
inline constexpr std::string_view kSchedulePass = "schedule";

// What the passes after `unfinished.after` make of the plan, until the observer stops.
//
// Errors: invalid_model, for a pass, policy or word that is none. verification_failed, if the task graph or the costs
// are not those of the plan, or if the plan lacks what a pass that has run promises.
Result<Plan> resume(Variants& variants, const UnfinishedPlan& unfinished, const PassObserver& observe);

}  // namespace plimsoll
