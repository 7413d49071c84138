// Why a budget is infeasible, and what would work instead (minimum.h finds that).
#pragma once

#include <string_view>

#include "passes/planning.h"

namespace plimsoll {

// The notes that begin so list what is live at the peak: details that the command line prints with -v only.
inline constexpr std::string_view kLiveAtPeak = "live at the peak: ";

// Before: `minimum` does not fit. The error is for whichever budget is too small: the host budget, if a larger one
// would help. It names the remedy first, then the reason.
Error infeasible(const Planning& planning, const Found& minimum, const Remedies& remedies);

}  // namespace plimsoll
