// Whether a request can be meant.
#pragma once

#include "passes/planner.h"
#include "passes/splits.h"

namespace plimsoll {

// Errors: usage, with the number that cannot be.
Status check_request(const PlanRequest& request, Splits& splits);

}  // namespace plimsoll
