// Placement problems as files, in minimalloc's format: for bug reports and benchmarks.
//
//   id,lower,upper,size[,offset]
//   0,995328,1000448,656384
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "passes/place/problem.h"

namespace plimsoll::placement {

struct Instance {
  Problem problem = {};
  std::optional<std::vector<int64_t>> offsets = {};  // if the file has them
};

// Columns may be in any order; lifetimes are half-open. Error: unreadable_input, with the line number.
// After: check(problem) holds.
Result<Instance> parse_csv(std::string_view text);

std::string to_csv(const Problem& problem, const Solution& solution);

}  // namespace plimsoll::placement
