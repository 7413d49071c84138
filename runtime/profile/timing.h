// How often a kernel has to run, and what several runs of it say of its time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace plimsoll::profile {

// Enough runs for a median, and no longer than a planner's user waits: hundreds of kernels are measured in one go.
inline constexpr size_t kFewestRuns = 5, kMostRuns = 7;
inline constexpr double kEnoughSeconds = 0.03;
// What comes before a run and in between, which is what runs differ by, is little of one that takes so long: two that agree say what more would.
inline constexpr double kLongSeconds = 0.05;
inline constexpr size_t kMostLongRuns = 3;
inline constexpr double kAgree = 1.03;

inline bool are_enough(const std::vector<double>& seconds) {
  const size_t runs = seconds.size();
  if (runs == 0) return false;
  const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
  if (*least >= kLongSeconds) return runs >= kMostLongRuns || (runs > 1 && *most <= kAgree * *least);
  return runs >= kMostRuns || (runs >= kFewestRuns && std::accumulate(seconds.begin(), seconds.end(), 0.0) >= kEnoughSeconds);
}

struct Timing {
  double median = 0;  // seconds
  double spread = 0;  // half of what lies between the quartiles
  int left_out = 0;   // runs that something else made much longer
  bool disturbed = false;  // all of them, so that this is no good figure
};

inline constexpr double kOutlier = 6;  // times the median distance from the median; of what is normally distributed, one run in 20,000

// A clock that changes or a process that comes in between makes a run longer by far more than runs differ: it is left out. Before: there are runs.
inline Timing timing_of(std::vector<double> seconds) {
  const auto sorted_median = [](std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  const double median = sorted_median(seconds);
  std::vector<double> distances;
  for (const double each : seconds) distances.push_back(std::fabs(each - median));
  const double gate = kOutlier * sorted_median(distances);
  const size_t runs = seconds.size();
  // Where most runs take the same to the tick of the clock, that distance says nothing.
  if (gate > 0) std::erase_if(seconds, [&](double each) { return std::fabs(each - median) > gate; });
  const size_t count = seconds.size();
  return {.median = seconds[count / 2], .spread = (seconds[(3 * count) / 4] - seconds[count / 4]) / 2, .left_out = static_cast<int>(runs - count)};
}

// Beside other processes that want the processors, runs of one kernel differ by half; alone, by a few percent. A tick of the clock and what it takes to wake
// a thread are no disturbance of kernels that take microseconds.
inline constexpr double kSteadySpread = 0.2;    // of the median
inline constexpr double kSteadySeconds = 5e-6;  // of spread, always
inline constexpr double kSteadyQueue = 0.2;     // of the time that was spent on measuring, a thread of ours was ready and something else ran

// Whether other work made these figures too long. `queued` and `passed`: seconds that our threads waited for a processor while all of it was measured, and that
// it took.
inline bool is_disturbed(const Timing& timing, double queued, double passed) {
  return timing.spread > std::fmax(kSteadySeconds, kSteadySpread * timing.median) || queued > kSteadyQueue * passed;
}

// How often a disturbed measurement is taken again: at most twice each, and not at all where it has not helped several times in a row, for what disturbs
// goes on.
class Retakes {
 public:
  bool may_try_again(int takes) const { return takes < kMostTakes && in_vain_ < kMostInVain; }
  void ended(int takes, bool disturbed) {
    if (takes > 1 || disturbed) in_vain_ = disturbed ? in_vain_ + 1 : 0;
  }

 private:
  static constexpr int kMostTakes = 3, kMostInVain = 8;
  int in_vain_ = 0;
};

}  // namespace plimsoll::profile
