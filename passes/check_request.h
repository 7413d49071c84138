// Validates a plan request.
#pragma once

#include "passes/planner.h"
#include "passes/variants.h"

namespace plimsoll {

// Error: usage, naming the value that is out of range.
Status check_request(const PlanRequest& request, Variants& variants);

}  // namespace plimsoll
