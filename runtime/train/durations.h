#pragma once

#include <algorithm>
#include <vector>

namespace plimsoll::train {

// Durations of the last iterations, and their median, which a slow first iteration does not affect.
class Durations {
 public:
  Durations() { seconds_.reserve(kKept); }
  void add(double seconds) {
    if (seconds_.size() < kKept) seconds_.push_back(seconds);
    else seconds_[next_++ % kKept] = seconds;
  }
  double median() const {
    std::vector<double> sorted = seconds_;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0 : sorted[sorted.size() / 2];
  }

 private:
  static constexpr size_t kKept = 1024;
  std::vector<double> seconds_;
  size_t next_ = 0;
};

}  // namespace plimsoll::train
