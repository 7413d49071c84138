// Sums over a row of contiguous floats, and its mean and standard deviation: shared by all row normalizations.
#pragma once

#include <cmath>
#include <cstdint>

namespace plimsoll::host {

// The sum of f(j) over a row, in vector lanes.
template <class F>
double row_sum(int64_t n, F f) {
  constexpr int64_t kNormLanes = 16;
  float lanes[kNormLanes] = {};
  int64_t j = 0;
  for (; j + kNormLanes <= n; j += kNormLanes)
    for (int64_t l = 0; l < kNormLanes; ++l) lanes[l] += f(j + l);
  for (int64_t l = 0; j < n; ++j, ++l) lanes[l] += f(j);
  double sum = 0;
  for (const float lane : lanes) sum += static_cast<double>(lane);
  return sum;
}

struct RowStatistics {
  float mean;
  float inverse_deviation;  // 1 / √(variance + epsilon)
};

// Without `centered` the mean is taken as 0: the variance is the mean of the squares.
template <bool centered, class T>
RowStatistics row_statistics(const T* row, int64_t n, double epsilon) {
  const double count = static_cast<double>(n);
  const float mean = centered ? static_cast<float>(row_sum(n, [=](int64_t j) { return row[j]; }) / count) : 0.0F;
  const double squares = row_sum(n, [=](int64_t j) { return (row[j] - mean) * (row[j] - mean); });
  return {mean, static_cast<float>(1 / std::sqrt(squares / count + epsilon))};
}

}  // namespace plimsoll::host
