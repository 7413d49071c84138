// Exponentials of a row of scores, and their sum. Maxima and sums are stated as vectors: the compiler may not change
// their order itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "runtime/host/math.h"
#include "runtime/host/planes.h"

namespace plimsoll::host {

// NaN if the first element is; NaN elsewhere is passed over. Before: n >= 1.
template <class T>
float largest_of(const T* x, int64_t n) {
  using Vectors = Planes<1>;
  const float first = x[0];
  typename Vectors::Vector all[4];
  for (auto& one : all) one = all_lanes<typename Vectors::Vector>(first);
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
  float lanes[kWidest];
  std::memcpy(lanes, &all[0], sizeof lanes);
  for (int half = kWidest / 2; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane) lanes[lane] = std::max(lanes[lane], lanes[lane + half]);
  float largest = lanes[0];
  for (; c < n; ++c) largest = x[c] > largest ? static_cast<float>(x[c]) : largest;
  return largest;
}

// Sums of e^(x - largest): lane l has elements l, l + 16, …
struct ExponentialSums {
  static constexpr int64_t kLanes = 16, kVectors = kLanes / kWidest;
  Widest lanes[kVectors] = {};

  // Lane l + 8 is added to lane l, then lane l + 4, …: an addition need not wait for all before it.
  template <class Sum>
  Sum total() const {
    Sum sums[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] = static_cast<Sum>(lanes[lane / kWidest][lane % kWidest]);
    for (int64_t half = kLanes / 2; half > 0; half /= 2)
      for (int64_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    return sums[0];
  }
};

// The exponentials are stored at `kept` unless it is null; it may be x.
template <class T>
ExponentialSums exponentials(const T* x, int64_t n, float largest, float* kept) {
  using Vectors = Planes<1>;
  constexpr int64_t kLanes = ExponentialSums::kLanes;
  ExponentialSums sums;
  const auto add = [&](const auto* from, float* to, int64_t vectors) {
    for (int64_t i = 0; i < vectors; ++i) {
      const Widest some = exponential(Vectors::load(from + i * kWidest) - largest);
      sums.lanes[i] += some;
      if (to) Vectors::store(to + i * kWidest, some);
    }
  };
  int64_t c = 0;
  for (; c + kLanes <= n; c += kLanes) add(x + c, kept ? kept + c : nullptr, ExponentialSums::kVectors);
  if (c == n) return sums;
  float rest[kLanes];
  std::fill_n(rest, kLanes, -std::numeric_limits<float>::infinity());
  for (int64_t lane = 0; lane < n - c; ++lane) rest[lane] = x[c + lane];
  add(rest, rest, (n - c + kWidest - 1) / kWidest);
  if (kept) std::copy_n(rest, n - c, kept + c);
  return sums;
}

}  // namespace plimsoll::host
