// The set of plans that `auto` searches. With a larger budget it must contain every plan of a smaller one; otherwise an
// iteration could become slower when memory grows. tests/check/options_test.cpp verifies this for every option.
#pragma once

#include <vector>

#include "passes/planning.h"
#include "passes/variants.h"

namespace plimsoll {

// The sub-batches of a request, most samples first.
std::vector<int64_t> considered_sub_batches(const PlanRequest& request, const Variants& variants);

// A task graph and an order. select_variant() searches all sub-batches of one of these together.
struct Searched {
  Variants* graph = nullptr;
  Policy policy = {};
};

// In the order in which they are searched: of equally fast plans, the one found first is chosen.
std::vector<Searched> searched_variants(const Planning& planning, const Found& unlimited, const Minimum& minimum);

// The efforts of the searches, one after the other (FrontierOptions::effort).
std::vector<int> efforts_of(const PlanRequest& request);

}  // namespace plimsoll
