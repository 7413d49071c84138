// The inverse of fit.h: where a schedule leaves room under the limit, evicted tensors are kept after all.
//
//   limit  ---------------------------
//            _        ___                 evicted: [a] in steps 3 … 9. All of them have room for it, so it stays, and
//   live   _| |______|   |__[ a  ]_       recomputations that served only a are dropped
#pragma once

#include "passes/search/state.h"

namespace plimsoll::search {

// `state` fits `limit`, and so does the result, which takes no longer. Tensors with the highest cost per byte come
// first, as many as fit at once. Repeated for the bytes that become free, up to `rounds` times.
State relax(Workbench& bench, State state, int64_t limit, int rounds);

}  // namespace plimsoll::search
