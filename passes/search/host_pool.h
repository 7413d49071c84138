// Keeps the host pool of a schedule within a limit: at the steps above it, the tensors with the lowest cost per byte
// are recomputed instead of offloaded, or stay on the device.
//
//   host pool   |   a a a a a a a a a a a |        a and b hold slots at the same time: without either of them, the
//               |       b b b b           |        pool has half the size
//               | residences: the whole run|
#pragma once

#include "passes/search/names.h"

namespace plimsoll::search {

// The maximum bytes in the pool at any time, before addresses: residences for the whole run, other tensors from their
// offload to their last fetch.
int64_t pool_bytes(const Model& model, const Trace& trace);

// The limit on pool_bytes() for a pool of `most` bytes, which leaves room for fragmentation. kNoLimit: no schedule of
// this model could exceed `most`.
int64_t pool_limit_for(const Model& model, int64_t most);

// Changes the decisions with the lowest cost per byte until the trace's pool keeps `limit`: to recompute where
// possible, else to keep. Residences come last. The lowered result needs a smaller pool, but may still exceed the
// limit. Returns false if nothing is left to change.
bool shrink_pool(const Model& model, const Trace& trace, int64_t limit, Decisions& decisions);

}  // namespace plimsoll::search
