// A trainer from a finished plan (compile --from=plan.json): nothing is planned, but everything is checked.
#pragma once

#include <string>

#include "compiler/driver/messages.h"
#include "compiler/driver/planning.h"
#include "compiler/driver/request.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Whether the path is a plan: plan.json, a plan in text form, or a directory with a plan.json. False if unreadable.
bool is_plan(const std::string& path);

// The plan of `asked.from` with the task graph that it is for. A plan names its tasks, but not their kernels: these
// come from the model, by the same passes and requests (loss, optimizer, layout) as when the plan was made. Batch,
// ranks, target and precision are the plan's. Errors: usage, if a request would change the plan, or contradicts it;
// verification_failed, if the plan is unsafe or for other tasks; those of prepare_plans.
Result<Planned> given_plan(PlanningRequest asked, const OnePlanRequest& one, const Messages& messages);

}  // namespace plimsoll
