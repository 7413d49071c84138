// A placement problem in the form that the solvers use: only buffers with bytes, and times as ranks.
// Private to passes/place/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
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

// The rank of each time. Times are mostly the steps of a plan, and nearly all of these occur. They are then counted,
// not sorted.
class Ranks {
 public:
  explicit Ranks(const Problem& problem) {
    times_.reserve(2 * problem.buffers.size());
    for (const Buffer& buffer : problem.buffers) times_.insert(times_.end(), {buffer.lower, buffer.upper});
    if (times_.empty()) return;
    const auto [first, last] = std::ranges::minmax(times_);
    first_ = first;
    if (static_cast<uint64_t>(last) - static_cast<uint64_t>(first) < 2 * times_.size()) {
      rank_of_.assign(static_cast<size_t>(last - first) + 1, 0);
      for (const int64_t time : times_) rank_of_[static_cast<size_t>(time - first)] = 1;
      for (int32_t& rank : rank_of_) count_ += std::exchange(rank, count_);
    } else {
      std::ranges::sort(times_);
      times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
      count_ = static_cast<int32_t>(times_.size());
    }
  }

  int32_t count() const { return count_; }
  int32_t operator()(int64_t time) const {
    if (!rank_of_.empty()) return rank_of_[static_cast<size_t>(time - first_)];
    return static_cast<int32_t>(std::ranges::lower_bound(times_, time) - times_.begin());
  }

 private:
  std::vector<int64_t> times_;    // sorted, each once, unless rank_of_ is used
  std::vector<int32_t> rank_of_;  // of each time from first_ on
  int64_t first_ = 0;
  int32_t count_ = 0;
};

inline Compact compact(const Problem& problem) {
  const Ranks rank(problem);
  Compact found{.times = rank.count()};
  found.items.reserve(problem.buffers.size());
  std::vector<int64_t> change(at(rank.count()), 0);  // of the live bytes, at each time
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
