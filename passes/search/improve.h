// The local part of the search: disturbs a schedule that fits, repairs it (fit.h), and keeps what is faster.
#pragma once

#include <random>

#include "passes/search/archive.h"
#include "passes/search/fit.h"

namespace plimsoll::search {

// `state` fits `limit`; so does the answer. Everything on the way that fits goes to the archive. Ends when the bench has
// done `work` more.
State improve(Workbench& bench, State state, int64_t limit, int64_t work, const Means& means, std::mt19937_64& random,
              Archive& archive);

}  // namespace plimsoll::search
