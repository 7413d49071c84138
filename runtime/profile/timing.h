// What several runs of one kernel say of its time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace plimsoll::profile {

struct Timing {
  double median = 0;  // seconds
  double spread = 0;  // half of what lies between the quartiles
  int left_out = 0;   // runs that something else disturbed
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

}  // namespace plimsoll::profile
