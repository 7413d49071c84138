// How many runs a kernel needs, and how its time is estimated from them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace plimsoll::profile {

// Enough runs for a median, but few, because hundreds of kernels are measured while the planner's user waits.
inline constexpr size_t kFewestRuns = 5, kMostRuns = 7;
inline constexpr double kEnoughSeconds = 0.03;
// Runs differ by what happens before and between them. For such a long run this is a small fraction: if two runs agree,
// more runs would not change the result.
inline constexpr double kLongSeconds = 0.05;
inline constexpr size_t kMostLongRuns = 3;
inline constexpr double kAgree = 1.03;

inline bool are_enough(const std::vector<double>& seconds) {
  const size_t runs = seconds.size();
  if (runs == 0) return false;
  const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
  if (*least >= kLongSeconds) return runs >= kMostLongRuns || (runs > 1 && *most <= kAgree * *least);
  return runs >= kMostRuns ||
         (runs >= kFewestRuns && std::accumulate(seconds.begin(), seconds.end(), 0.0) >= kEnoughSeconds);
}

struct Timing {
  double median = 0;  // seconds
  double spread = 0;  // half of the interquartile range
  int left_out = 0;   // runs excluded as outliers
  bool disturbed = false;  // all runs were disturbed, so the figure is unreliable
};

// times the median absolute deviation; of normally distributed values, one in 20,000 exceeds it
inline constexpr double kOutlier = 6;

// Excludes outliers: a clock change or another process makes a run longer by far more than runs usually differ. Before:
// there is at least one run.
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
  // If most runs take the same number of clock ticks, the deviation is 0 and says nothing.
  if (gate > 0) std::erase_if(seconds, [&](double each) { return std::fabs(each - median) > gate; });
  const size_t count = seconds.size();
  return {.median = seconds[count / 2],
          .spread = (seconds[(3 * count) / 4] - seconds[count / 4]) / 2,
          .left_out = static_cast<int>(runs - count)};
}

// If other processes compete for the processors, runs of one kernel differ by half; otherwise by a few percent. For
// kernels that take microseconds, a clock tick or the time to wake a thread does not count as a disturbance.
inline constexpr double kSteadySpread = 0.2;    // of the median
inline constexpr double kSteadySeconds = 5e-6;  // a spread that is always accepted
// of the measuring time in which a thread of this process was runnable but not running
inline constexpr double kSteadyQueue = 0.2;

// Whether other processes distorted these figures. `queued` and `passed`: the seconds that our threads waited for a
// processor during the whole measurement, and its duration.
inline bool is_disturbed(const Timing& timing, double queued, double passed) {
  return timing.spread > std::fmax(kSteadySeconds, kSteadySpread * timing.median) || queued > kSteadyQueue * passed;
}

// Limits the repetition of disturbed measurements: at most twice each, and not at all after several failures in a row,
// because the disturbance then persists.
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
