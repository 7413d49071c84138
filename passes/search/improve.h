// The local part of the search: disturbs a schedule that fits, repairs it (fit.h), and keeps what is faster.
#pragma once

#include <random>

#include "passes/search/archive.h"
#include "passes/search/fit.h"

namespace plimsoll::search {

// What there is to decide: tensors that have a choice, in the order in which their gaps begin, and those of them that are
// decided together.
struct Decisions {
  std::vector<int32_t> items = {};
  std::vector<double> prices = {};               // of items: seconds to run it again, for a byte
  std::vector<std::vector<int32_t>> twins = {};  // twins.h: of items that have any
};
Decisions find_decisions(const Model& model);

// `state` fits `limit`; so does the answer. Everything on the way that fits goes to the archive. Ends when the bench has
// done `work` more, or half of it in vain.
State improve(Workbench& bench, State state, int64_t limit, int64_t work, const Decisions& decisions, const Means& means,
              std::mt19937_64& random, Archive& archive);

}  // namespace plimsoll::search
