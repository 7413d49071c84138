// The error for an infeasible budget: the reason, and the budgets that would work (minimum.h finds them).
#pragma once

#include <string_view>

#include "passes/planning.h"

namespace plimsoll {

// Prefix of the notes that list what is live at the peak. The command line prints these notes with -v only.
inline constexpr std::string_view kLiveAtPeak = "live at the peak: ";

// Before: `minimum` does not fit. The error names the host budget if a larger one would help, else the device budget.
// Its notes begin with the remedy.
Error infeasible(const Planning& planning, const Found& minimum, const Remedies& remedies);

}  // namespace plimsoll
