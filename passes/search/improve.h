// The local search: applies a random move to a schedule that fits, repairs it (fit.h), and keeps it if it is faster.
#pragma once

#include <random>

#include "passes/search/archive.h"
#include "passes/search/fit.h"

namespace plimsoll::search {

// The decision variables: tensors that have a choice, in the order in which their gaps begin, and groups of them that
// are changed together.
struct DecisionSpace {
  std::vector<int32_t> items = {};
  std::vector<double> prices = {};               // of items: seconds of recomputation per byte
  std::vector<std::vector<int32_t>> twins = {};  // groups of twins (twins.h) with at least two members
};
DecisionSpace find_decision_space(const Model& model);

// `state` fits `limit`, and so does the result. Every fitting schedule on the way goes to the archive. Ends after
// `work` more units of work on the bench, or after half of that without a gain.
State improve(Workbench& bench, State state, int64_t limit, int64_t work, const DecisionSpace& space,
              const Means& means, std::mt19937_64& random, Archive& archive);

}  // namespace plimsoll::search
