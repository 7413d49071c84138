// The other direction of fit.h: where a schedule leaves room under the limit, what was given up is kept after all.
//
//   limit  ---------------------------
//            _        ___                 given up: [a] in steps 3 … 9. There is room for it in all of them: it stays,
//   live   _| |______|   |__[ a  ]_       and whatever was run again for it alone is run no more
#pragma once

#include "passes/search/state.h"

namespace plimsoll::search {

// `state` fits `limit`; so does the answer, and it takes no longer. Dearest for their bytes first, as many as there is room
// for at once; then again, for what has become free, up to `rounds` times.
State relax(Workbench& bench, State state, int64_t limit, int rounds);

}  // namespace plimsoll::search
