// The memory limits of a search, and how much work each gets. They depend on the model and the effort, never on the
// budget, so a larger budget never gives a slower plan.
//
//   bytes    high |  .   .   .  .  .  . . . .|....| low       geometric, and denser just above the minimum
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "passes/context.h"

namespace plimsoll::search {

struct Limits {
  std::vector<int64_t> bytes = {};  // from high to low
  int64_t work = 0;                 // steps evaluated per limit: half for start schedules, half for improvement
  // Half-open ranges of limits. Within one, tighter limits start from the results of looser ones. Segments are searched
  // in parallel, each from a few warm-up limits above it.
  std::vector<std::pair<size_t, size_t>> segments = {};
  int64_t above(size_t limit) const { return limit == 0 ? kNoLimit : bytes[limit - 1]; }  // the next higher one
  // The first segment that can hold schedules within `most` bytes.
  size_t segment_of(int64_t most) const {
    size_t segment = 0;
    while (segment + 1 < segments.size() && bytes[segments[segment].second - 1] >= most) ++segment;
    return segment;
  }
};

// `steps`: of the order. `effort`: 0 to 3 (FrontierOptions).
Limits limits_between(int64_t low, int64_t high, int64_t steps, int effort);

inline constexpr size_t kWarmUpLimits = 4;

}  // namespace plimsoll::search
