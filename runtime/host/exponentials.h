// Exponentials of a row of scores, and their sum. Maxima and sums are stated as vectors: the compiler may not change
// their order itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/host/math.h"
#include "runtime/host/planes.h"

namespace plimsoll::host {

// NaN if the first element is; NaN elsewhere is passed over. Before: n >= 1.
template <class T>
float largest_of(const T* x, int64_t n) {
  using Vectors = Planes<1>;
  const float first = x[0];
  typename Vectors::Vector all[4];
  for (auto& one : all) one = typename Vectors::Vector{} + first;
  const auto take = [&](int64_t at, size_t i) {
    const auto here = Vectors::load(x + at);
    all[i] = here > all[i] ? here : all[i];
  };
  int64_t c = 0;
  for (; c + 4 * kWidest <= n; c += 4 * kWidest) {
    take(c, 0);
    take(c + kWidest, 1);
    take(c + 2 * kWidest, 2);
    take(c + 3 * kWidest, 3);
  }
  for (; c + kWidest <= n; c += kWidest) take(c, 0);
  for (size_t i = 1; i < 4; ++i) all[0] = all[i] > all[0] ? all[i] : all[0];
  float largest = first;
  for (int lane = 0; lane < kWidest; ++lane) largest = all[0][lane] > largest ? all[0][lane] : largest;
  for (; c < n; ++c) largest = x[c] > largest ? static_cast<float>(x[c]) : largest;
  return largest;
}

// Sums of e^(x - largest): lane l has elements l, l + 16, …
struct ExponentialSums {
  VectorOf<16>::Type lanes = {};

  template <class Sum>
  Sum total() const {
    Sum sum = 0;
    for (int lane = 0; lane < 16; ++lane) sum += static_cast<Sum>(lanes[lane]);
    return sum;
  }
};

// The exponentials are stored at `kept` unless it is null; it may be x.
template <class T>
ExponentialSums exponentials(const T* x, int64_t n, float largest, float* kept) {
  constexpr int64_t kStretch = 256;
  float some[kStretch];  // of its own, so that the compiler knows that it is not x
  ExponentialSums sums;
  for (int64_t c = 0; c < n; c += kStretch) {
    const int64_t count = std::min(kStretch, n - c);
    for (int64_t j = 0; j < count; ++j) some[j] = exp_of(x[c + j] - largest);
    const int64_t whole = (count + 15) / 16 * 16;
    std::fill(some + count, some + whole, 0.0F);
    for (int64_t j = 0; j < whole; j += 16) {
      VectorOf<16>::Type here;
      std::memcpy(&here, some + j, sizeof here);
      sums.lanes += here;
    }
    if (kept) std::copy(some, some + count, kept + c);
  }
  return sums;
}

}  // namespace plimsoll::host
