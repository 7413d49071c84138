// Device code for adjacent floats that a thread processes at once: one access of up to 16 bytes. Addresses are
// multiples of the access: operands are aligned to 256 bytes. Rows of any other length than a multiple of four begin
// anywhere; code that traverses them takes one element at a time, or parts as in ops/plane_steps.h.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace plimsoll::cuda {

// Adjacent elements: four or one. Aligned to its size, so that it is read and written in one access.
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

// Added to what is there, with `kAdd`.
template <bool kAdd, int kAtOnce>
__device__ void put_few(float* to, Few<kAtOnce> few) {
  if constexpr (kAdd) {
    const Few<kAtOnce> before = load_few<kAtOnce>(to);
    for (int k = 0; k < kAtOnce; ++k) few.of[k] = before.of[k] + few.of[k];
  }
  store_few(to, few);
}

// f(the k-th elements), for every k.
template <int kAtOnce, class F, class... More>
__device__ Few<kAtOnce> by_element(F f, const Few<kAtOnce>& first, const More&... more) {
  Few<kAtOnce> result;
  for (int k = 0; k < kAtOnce; ++k) result.of[k] = f(first.of[k], more.of[k]...);
  return result;
}

// The number of this thread in the grid.
__device__ inline int64_t thread_number() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

}  // namespace plimsoll::cuda
