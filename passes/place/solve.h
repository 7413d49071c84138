// Solvers of placement problems. All of them are deterministic, and effort is counted in work done, never in time.
#pragma once

#include <string_view>

#include "passes/place/problem.h"

namespace plimsoll::placement {

enum class Method {
  by_size,      // largest first, each in the lowest gap that fits
  best_fit,     // largest first, each in the tightest gap that fits
  by_area,      // largest size · lifetime first, lowest gap
  by_lifetime,  // longest-lived first, lowest gap: nested lifetimes, as of a chain's activations, pile up perfectly
  best_of,      // the lowest of all these and, while it is above the lower bound, of repacking
};

std::string_view to_string(Method method);

struct Effort {
  // Entries that repacking may look at: about 0.3 s. The greedy orders always run.
  int64_t scans = 300'000'000;
};

// Before: check(problem). The solution is valid whatever the method.
Solution solve(const Problem& problem, Method method = Method::best_of, const Effort& effort = {});

}  // namespace plimsoll::placement
