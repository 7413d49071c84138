// Device code for the mean and the standard deviation of a row read by a block of threads: shared by all row
// normalizations.
#pragma once

#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/device/vector.h"

namespace plimsoll::cuda {

// body(the first of kAtOnce columns) for this thread's share of a row.
template <int kThreads, int kAtOnce, class Body>
__device__ void for_columns(int64_t n, Body body) {
  for (int64_t j = int64_t{kAtOnce} * threadIdx.x; j < n; j += kAtOnce * kThreads) body(j);
}

struct RowStatistics {
  float mean;
  float inverse_deviation;  // 1 / √(variance + epsilon)
};

// Returned to every thread of the block. Without kCentered the mean is taken as 0: the variance is the mean of the
// squares.
template <int kThreads, int kAtOnce, bool kCentered>
__device__ RowStatistics row_statistics(const float* x, int64_t n, double epsilon) {
  float mean = 0;
  if constexpr (kCentered) {
    double sum = 0;
    for_columns<kThreads, kAtOnce>(n, [&](int64_t j) {
      for (const float v : load_few<kAtOnce>(x + j).of) sum += static_cast<double>(v);
    });
    mean = static_cast<float>(block_sum_for_all<kThreads>(sum) / static_cast<double>(n));
  }
  double squares = 0;
  for_columns<kThreads, kAtOnce>(n, [&](int64_t j) {
    for (const float v : load_few<kAtOnce>(x + j).of) {
      const float off = v - mean;
      squares += static_cast<double>(off * off);
    }
  });
  squares = block_sum_for_all<kThreads>(squares);
  return {mean, static_cast<float>(1 / sqrt(squares / static_cast<double>(n) + epsilon))};
}

}  // namespace plimsoll::cuda
