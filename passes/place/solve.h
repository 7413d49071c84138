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
  best_of,      // the lowest of all these and of filled skylines; above the lower bound, what search and shuffled
                // orders find in the given effort
};

std::string_view to_string(Method method);

// How long best_of may go on after the greedy orders, which always run.
struct Effort {
  int64_t scans = 20'000'000;  // entries that shuffled orders look at
  int64_t nodes = 100'000;     // placements that the exact search tries; fewer where there are more than 512 buffers
  int64_t nodes_above = 0;     // of these, left for heights above the capacity: where it can be met that is mostly seen soon,
                               // where it cannot no search says so. 0: as the capacity asks
  int64_t capacity = 0;        // a height that is enough: what meets it is the answer. Where none can meet it, and with 0,
                               // as low as it gets
};

// For one of many questions: milliseconds for a thousand buffers. For one of many plans; while a user waits, and while one waits
// for nothing else: a tenth of a second, a second, and up to a minute.
inline constexpr Effort kProbe{.scans = 0, .nodes = 0};
inline constexpr Effort kPlan{.nodes = 30'000, .nodes_above = 20'000};
inline constexpr Effort kQuick{};
inline constexpr Effort kThorough{.scans = 300'000'000, .nodes = 3'000'000};

// Before: check(problem). The solution is valid whatever the method.
Solution solve(const Problem& problem, Method method = Method::best_of, const Effort& effort = kQuick);

}  // namespace plimsoll::placement
