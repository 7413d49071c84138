// Exponentials of a row of scores, in 16 lanes so that the compiler vectorizes the loops: it may not change the order
// of a sum, nor of a maximum, itself.
#pragma once

#include <cstdint>
#include <limits>

#include "runtime/host/math.h"

namespace plimsoll::host {

inline constexpr int64_t kExponentialLanes = 16;

// NaN if the first element is; NaN elsewhere is passed over. Before: n >= 1.
template <class T>
float largest_of(const T* x, int64_t n) {
  float lanes[kExponentialLanes];
  for (float& lane : lanes) lane = x[0];
  int64_t c = 0;
  for (; c + kExponentialLanes <= n; c += kExponentialLanes)
    for (int64_t l = 0; l < kExponentialLanes; ++l) {
      const float value = x[c + l];
      lanes[l] = value > lanes[l] ? value : lanes[l];
    }
  for (int64_t l = 0; c < n; ++c, ++l) {
    const float value = x[c];
    lanes[l] = value > lanes[l] ? value : lanes[l];
  }
  float largest = lanes[0];
  for (const float lane : lanes) largest = lane > largest ? lane : largest;
  return largest;
}

// Sums of e^(x - largest): lane l has elements l, l + 16, …
struct ExponentialSums {
  float lanes[kExponentialLanes] = {};

  template <class Sum>
  Sum total() const {
    Sum sum = 0;
    for (const float lane : lanes) sum += static_cast<Sum>(lane);
    return sum;
  }
};

// The exponentials are stored at `kept` unless it is null; it may be x.
template <class T>
ExponentialSums exponentials(const T* x, int64_t n, float largest, float* kept) {
  ExponentialSums sums;
  int64_t c = 0;
  for (; c + kExponentialLanes <= n; c += kExponentialLanes)
    for (int64_t l = 0; l < kExponentialLanes; ++l) {
      const float e = exp_of(x[c + l] - largest);
      if (kept) kept[c + l] = e;
      sums.lanes[l] += e;
    }
  if (c == n) return sums;
  float rest[kExponentialLanes];  // e^-∞ = 0 beyond the row
  for (float& one : rest) one = -std::numeric_limits<float>::infinity();
  for (int64_t l = 0; c + l < n; ++l) rest[l] = x[c + l];
  for (int64_t l = 0; l < kExponentialLanes; ++l) {
    rest[l] = exp_of(rest[l] - largest);
    sums.lanes[l] += rest[l];
  }
  for (int64_t l = 0; kept && c + l < n; ++l) kept[c + l] = rest[l];
  return sums;
}

}  // namespace plimsoll::host
