// Makes plans under tighter and tighter limits on live bytes, until the arena of one fits. This is necessary because
// fragmentation makes an arena larger than its live bytes.
#pragma once

#include <optional>
#include <utility>

#include "passes/candidate.h"

namespace plimsoll {

// Begins with `limit`.
//   make(limit)               the plan under that limit, as Result<std::optional<Found>>
//   fits(found, limit)        true if the plan may be returned
//   next(found, limit, fit)   the limit after that plan, as std::optional<int64_t>; nullopt ends
// Returns the fastest of the plans that fit, the last of equally fast ones. nullopt: none fits, or some limit has no
// plan, because it would be too slow.
template <class Make, class Fits, class Next>
Result<std::optional<Found>> tighten(std::optional<int64_t> limit, Make make, Fits fits, Next next) {
  std::optional<Found> best;
  while (limit) {
    PLIMSOLL_ASSIGN(std::optional<Found> found, make(*limit));
    if (!found) return found;
    const bool fit = fits(*found, *limit);
    limit = next(*found, *limit, fit);
    if (fit && (!best || found->seconds() <= best->seconds())) best = std::move(found);
  }
  return best;
}

}  // namespace plimsoll
