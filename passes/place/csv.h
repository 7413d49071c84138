// Placement problems as CSV files, in minimalloc's format, for bug reports and benchmarks.
//
//   id,lower,upper,size[,offset]
//   0,995328,1000448,656384
#pragma once

#include <string>
#include <string_view>

#include "passes/place/problem.h"

namespace plimsoll::placement {

// Columns may be in any order; lifetimes are half-open; offsets are ignored. Error: unreadable_input, with the line
// number. After: check(problem) holds.
Result<Problem> parse_csv(std::string_view text);

std::string to_csv(const Problem& problem, const Solution& solution);

}  // namespace plimsoll::placement
