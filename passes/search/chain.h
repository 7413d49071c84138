// Start schedules for chains: the recurrence of Beaumont et al. (rotor, arXiv 1911.13214). It is optimal for chains
// among schedules that copy nothing and hold a checkpoint until it has been used. If nothing is copied, chains take up
// to 2.8 % longer without these starts (docs/decisions/search.md).
//
//   y_s . . . . y_k . . . . y_t     best(s, t, m): seconds from y_s and y_t's gradient to y_s's gradient, in m bytes
//               keep                run from s to k, keep y_k;  best(k, t, m - y_s);  then best(s, k, m)
//   levels      0  2  1  0          y_k stays on the way to y_t; splits of the recomputed left part are a level deeper
#pragma once

#include <vector>

#include "passes/search/names.h"

namespace plimsoll::search {

struct ChainStart {
  Decisions decisions = {};
  int64_t limit = 0;  // bytes; the live limit that the recurrence assumed
};

// By rising limit, each faster than those before it: the recurrence's answer for every limit. Empty if the forward
// tasks are not a chain (each reads exactly what the previous one wrote) or the chain has more than 64 tasks.
std::vector<ChainStart> chain_starts(const Model& model);

}  // namespace plimsoll::search
