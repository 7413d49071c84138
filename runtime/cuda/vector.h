// Device code for four floats at a time: one access of 16 bytes. Addresses are multiples of 16: operands are aligned to
// 256, and code that traverses rows takes four at a time only if the length of a row is a multiple of four.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace plimsoll::cuda {

__device__ inline float4 load4(const float* from) { return *reinterpret_cast<const float4*>(from); }
__device__ inline void store4(float* to, float4 v) { *reinterpret_cast<float4*>(to) = v; }

// Adjacent elements that a thread processes at once: four, or one if the length of a row is not a multiple of four.
// Aligned to its size, so that it is read and written in one access.
template <int kAtOnce, class T = float>
struct alignas(kAtOnce * sizeof(T)) Few {
  T of[kAtOnce];
};

// The same value repeated.
template <int kAtOnce, class T>
__device__ Few<kAtOnce, T> few_of(T value) {
  Few<kAtOnce, T> few;
  for (T& one : few.of) one = value;
  return few;
}

template <int kAtOnce, class T>
__device__ Few<kAtOnce, T> load_few(const T* from) {
  return *reinterpret_cast<const Few<kAtOnce, T>*>(from);
}

template <int kAtOnce, class T>
__device__ void store_few(T* to, const Few<kAtOnce, T>& few) {
  *reinterpret_cast<Few<kAtOnce, T>*>(to) = few;
}

__device__ inline float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }

// The number of this thread in the grid.
__device__ inline int64_t thread_number() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

}  // namespace plimsoll::cuda
