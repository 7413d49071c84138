// The inverse of fit.h: keeps evicted tensors where a schedule leaves room under the limit.
//
//   limit  ---------------------------
//            _        ___                 evicted: [a] in steps 3 … 9. All of them have room for it, so it stays, and
//   live   _| |______|   |__[ a  ]_       recomputations that served only a are dropped
#pragma once

#include "passes/search/state.h"

namespace plimsoll::search {

// `state` fits `limit`, and so does the result, which takes no longer. Each round keeps as many tensors as fit, those
// with the highest cost per byte first. That may free bytes, so there are up to `rounds` rounds, as long as they help.
State relax(Workbench& bench, State state, int64_t limit, int rounds);

}  // namespace plimsoll::search
