// Schedules whose host pool keeps a limit: what waits there for longest for its price is run again instead, or stays.
//
//   host pool   |   a a a a a a a a a a a |         a stays over b's whole gap: without it, or without b, the pool is half of it
//               |       b b b b           |
//               | homes: for the whole run|
#pragma once

#include "passes/schedule/weave.h"

namespace plimsoll::search {

// What the pool holds at most at once, addresses not counted: homes for the whole run, what waits from its offload to its last fetch.
int64_t pool_bytes(const schedule::Model& model, const schedule::Trace& trace);

// No schedule has a smaller one, and none a larger one.
int64_t least_pool_bytes(const schedule::Model& model);
int64_t most_pool_bytes(const schedule::Model& model);

// Gives what is cheapest for its bytes another fate until the trace's pool keeps `limit`: it is run again where it may be, or stays on the
// device; homes come last. Woven again, a trace needs less, though it may still need more than the limit. False: nothing is left to change.
bool shrink_pool(const schedule::Model& model, const schedule::Trace& trace, int64_t limit, schedule::Fates& fates);

}  // namespace plimsoll::search
