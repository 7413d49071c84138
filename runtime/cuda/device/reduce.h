// Device code for sums over a block of threads, by a tree whose shape depends only on the block's size: the same bits
// every time. Atomics only count the blocks that have arrived (arrival.h); no sum uses them.
#pragma once

#include <cuda_runtime.h>

namespace plimsoll::cuda {

// combine(a, b) over the threads of a block, in a fixed order; thread 0 has the result. Every thread must call it.
template <int kThreads, class T, class Combine>
__device__ T block_reduce(T value, Combine combine) {
  static_assert(kThreads % 32 == 0 && kThreads <= 1024);
  constexpr int kWarps = kThreads / 32;
  __shared__ T of_warp[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  for (int distance = 16; distance > 0; distance /= 2) value = combine(value, value.from(lane, distance));
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int other = 1; other < kWarps; ++other) value = combine(value, of_warp[other]);
  __syncthreads();  // the next call may use the same shared memory
  return value;
}

// The value that a tree passes between lanes: a struct whose from() returns the value of the lane `distance` further
// on.
struct DoubleSum {
  double sum;
  __device__ DoubleSum from(int, int distance) const { return {__shfl_down_sync(0xFFFFFFFFU, sum, distance)}; }
};

template <int kThreads>
__device__ double block_sum(double value) {
  return block_reduce<kThreads>(DoubleSum{value}, [](DoubleSum a, DoubleSum b) { return DoubleSum{a.sum + b.sum}; })
      .sum;
}

struct FloatMax {
  float value;
  __device__ FloatMax from(int, int distance) const { return {__shfl_down_sync(0xFFFFFFFFU, value, distance)}; }
};

// The maximum, returned to every thread.
template <int kThreads>
__device__ float block_max(float value) {
  __shared__ float largest;
  const FloatMax found =
      block_reduce<kThreads>(FloatMax{value}, [](FloatMax a, FloatMax b) { return b.value > a.value ? b : a; });
  if (threadIdx.x == 0) largest = found.value;
  __syncthreads();
  const float result = largest;
  __syncthreads();
  return result;
}

// The sum, returned to every thread.
template <int kThreads>
__device__ double block_sum_for_all(double value) {
  __shared__ double total;
  const double sum = block_sum<kThreads>(value);
  if (threadIdx.x == 0) total = sum;
  __syncthreads();
  const double result = total;
  __syncthreads();
  return result;
}

}  // namespace plimsoll::cuda
