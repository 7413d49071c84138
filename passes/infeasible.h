// Why a budget is infeasible, and what would work instead. The texts are in explain.h.
#pragma once

#include "passes/planning.h"

namespace plimsoll {

// Before: `minimum` does not fit. The error is for whichever budget is too small: the host budget, if a larger one
// would help. It names the remedy first, then the reason.
Error infeasible(const Planning& planning, const Found& minimum);

}  // namespace plimsoll
