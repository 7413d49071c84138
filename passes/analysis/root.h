// Roots without std::pow, whose last bits may differ from one C library to another. Plans would then differ, too.
#pragma once

#include <cstdint>

namespace plimsoll {

inline double to_the_power(double x, int64_t n) {
  double power = 1;
  for (int64_t i = 0; i < n; ++i) power *= x;
  return power;
}

// The n-th root of x >= 0. Newton's method from 1 descends to the root of a number of at most 1.
inline double root(double x, int64_t n) {
  if (x <= 0) return 0;
  if (x > 1) return 1 / root(1 / x, n);
  for (double y = 1;;) {
    const double power = to_the_power(y, n - 1), next = y - (power * y - x) / (static_cast<double>(n) * power);
    if (!(next < y)) return y;
    y = next;
  }
}

}  // namespace plimsoll
