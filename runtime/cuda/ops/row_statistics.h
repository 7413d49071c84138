// Device code for the mean and the standard deviation of a row read by a block of threads: shared by all row
// normalizations.
#pragma once

#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/ops/plane_steps.h"

namespace plimsoll::cuda {

struct RowStatistics {
  float mean;
  float inverse_deviation;  // 1 / √(variance + epsilon)
};

// Of a row whose base is `x`, returned to every thread of the block. Without kCentered the mean is taken as 0: the
// variance is the mean of the squares.
template <int kThreads, bool kCentered, Step kStep, class T>
__device__ RowStatistics row_statistics(const T* x, const RowOf<kStep>& row, double epsilon) {
  const double n = static_cast<double>(row.n);
  float mean = 0;
  if constexpr (kCentered) {
    double sum = 0;
    for_parts<kThreads>(row, [&](const auto& part) {
      for (const float v : part.load(x).of) sum += static_cast<double>(v);
    });
    mean = static_cast<float>(block_sum_for_all<kThreads>(sum) / n);
  }
  double squares = 0;
  for_parts<kThreads>(row, [&](const auto& part) {
    const auto few = part.load(x);
    for (int k = 0; k < part.kAtOnce; ++k) {
      const float off = part.has(k) ? few.of[k] - mean : 0;
      squares += static_cast<double>(off * off);
    }
  });
  squares = block_sum_for_all<kThreads>(squares);
  return {mean, static_cast<float>(1 / sqrt(squares / n + epsilon))};
}

}  // namespace plimsoll::cuda
