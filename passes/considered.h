// What a search considers. A larger budget considers at least as much, or it could give a slower plan: a test holds
// this for every option (tests/check/options_test.cpp).
#pragma once

#include <vector>

#include "passes/planning.h"

namespace plimsoll {

// A graph with an order, of which all sub-batches are searched together (select_variant.h).
struct Searched {
  Variants* graph = nullptr;
  Policy policy = {};
};

// Their order decides between plans that are equally fast.
std::vector<Searched> searched_variants(const Planning& planning, const Found& unlimited, const Minimum& minimum);

// The efforts to search with, in turn.
std::vector<int> efforts_of(const PlanRequest& request);

}  // namespace plimsoll
