// A placement problem in the form that the solvers use: only buffers with bytes, and times as ranks.
// Private to passes/place/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "passes/place/problem.h"

namespace plimsoll::placement {

struct Item {
  int32_t lower = 0, upper = 0;  // ranks among the distinct times; only their order matters
  int64_t size = 0;
  double duration = 0;  // in the problem's times
  size_t buffer = 0;    // index in the problem
  int64_t lifetime() const { return upper - lower; }
  double area() const { return static_cast<double>(size) * static_cast<double>(lifetime()); }
  bool meets(const Item& other) const { return lower < other.upper && other.lower < upper; }
};

struct Compact {
  std::vector<Item> items = {};
  int32_t times = 0;  // ranks are in [0, times)
  int64_t bound = 0;  // lower_bound(problem)
};

inline Compact compact(const Problem& problem) {
  std::vector<int64_t> times;
  times.reserve(2 * problem.buffers.size());
  for (const Buffer& buffer : problem.buffers) {
    times.push_back(buffer.lower);
    times.push_back(buffer.upper);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const auto rank = [&](int64_t time) {
    return static_cast<int32_t>(std::lower_bound(times.begin(), times.end(), time) - times.begin());
  };
  Compact found{.times = static_cast<int32_t>(times.size()), .bound = lower_bound(problem)};
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    const double duration = static_cast<double>(buffer.upper) - static_cast<double>(buffer.lower);
    if (buffer.size > 0) found.items.push_back({rank(buffer.lower), rank(buffer.upper), buffer.size, duration, i});
  }
  return found;
}

}  // namespace plimsoll::placement
