// Where the search begins on chains: Beaumont et al.'s recurrence (rotor, arXiv 1911.13214), which is exact for them among
// schedules that copy nothing and hold a checkpoint until it has served.
//
//   y_s . . . . y_k . . . . y_t     best(s, t, m), seconds from "y_s and the gradient of y_t are there" to that of y_s, in m bytes:
//               keep                run from s to k, keep y_k;  best(k, t, m - y_s);  then best(s, k, m)
//   levels      0  2  1  0          y_k stays on the way to y_t; splits of the left part, which is run again, are a level deeper
#pragma once

#include <vector>

#include "passes/schedule/apply.h"

namespace plimsoll::search {

struct ChainSeed {
  schedule::Fates fates = {};
  int64_t limit = 0;  // on live bytes, that the recurrence kept to
};

// By rising limit, each faster than those before it: what the recurrence says for every limit. Empty where forward tasks are no
// chain, each reading what the one before wrote and nothing else, or one of more than 64.
std::vector<ChainSeed> chain_seeds(const schedule::Model& model);

}  // namespace plimsoll::search
