// A placement problem in the form that the solvers use: only buffers with bytes, and times as ranks.
// Private to passes/place/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "passes/place/problem.h"

namespace plimsoll::placement {

// Ranks and sections have 32 bits; this converts them to vector indices.
inline size_t at(int32_t i) { return static_cast<size_t>(i); }

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
  for (const Buffer& buffer : problem.buffers) times.insert(times.end(), {buffer.lower, buffer.upper});
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const auto rank = [&](int64_t time) {
    return static_cast<int32_t>(std::ranges::lower_bound(times, time) - times.begin());
  };
  Compact found{.times = static_cast<int32_t>(times.size())};
  std::vector<int64_t> change(times.size(), 0);  // of the live bytes, at each time
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    if (buffer.size == 0) continue;
    const double duration = static_cast<double>(buffer.upper) - static_cast<double>(buffer.lower);
    const Item item{rank(buffer.lower), rank(buffer.upper), buffer.size, duration, i};
    change[at(item.lower)] += item.size;
    change[at(item.upper)] -= item.size;
    found.items.push_back(item);
  }
  int64_t live = 0;
  for (const int64_t bytes : change) found.bound = std::max(found.bound, live += bytes);
  return found;
}

}  // namespace plimsoll::placement
