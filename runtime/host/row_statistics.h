// Sums over a row of contiguous floats, and its mean and standard deviation: shared by all row normalizations.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "runtime/host/planes.h"

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

using RowVector = Planes<1>::Vector;

// The same for vectors of a row, which are stated as vectors: term(load, j), where load(p) gives the vector at p. The
// lanes are added in pairs, and these in pairs.
template <class Term>
double vector_sum(int64_t n, Term term) {
  const RowVector sum = Planes<1>::sum(0, n, term);
  VectorOf<8>::Type eight;
  std::memcpy(&eight, &sum, sizeof eight);
  if constexpr (sizeof sum > sizeof eight) {
    VectorOf<8>::Type others;
    std::memcpy(&others, reinterpret_cast<const char*>(&sum) + sizeof eight, sizeof others);
    eight += others;
  }
  return (static_cast<double>(eight[0] + eight[4]) + static_cast<double>(eight[1] + eight[5])) +
         (static_cast<double>(eight[2] + eight[6]) + static_cast<double>(eight[3] + eight[7]));
}

struct RowStatistics {
  float mean;
  float inverse_deviation;  // 1 / √(variance + epsilon)
};

// Without `centered` the mean is taken as 0: the variance is the mean of the squares.
template <bool centered, class T>
RowStatistics row_statistics(const T* row, int64_t n, double epsilon) {
  const double count = static_cast<double>(n);
  const float mean =
      centered ? static_cast<float>(vector_sum(n, [=](auto load, int64_t j) { return load(row + j); }) / count) : 0.0F;
  const double squares = vector_sum(n, [=](auto load, int64_t j) {
    const RowVector from_mean = load(row + j) - mean;
    return from_mean * from_mean;
  });
  return {mean, static_cast<float>(1 / std::sqrt(squares / count + epsilon))};
}

}  // namespace plimsoll::host
