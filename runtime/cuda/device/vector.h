// Device code for adjacent elements that a thread processes at once: one access of up to 16 bytes. Addresses are
// multiples of the access: operands are aligned to 256 bytes. Rows of any other length than a multiple of four begin
// anywhere; code that traverses them takes one element at a time, or parts as in ops/plane_steps.h.
//
// Elements in memory are f32, bf16 or f16, arithmetic is in float: loads widen, and stores round to the nearest, ties
// to even.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "runtime/attrs/bf16.h"
#include "runtime/attrs/f16.h"

namespace plimsoll::cuda {

// Adjacent elements: one, four, or eight. Aligned to its size, so that it is read and written in one access; eight
// floats in two.
template <int kAtOnce, class T = float>
struct alignas(kAtOnce * sizeof(T) < 16 ? kAtOnce * sizeof(T) : 16) Few {
  T of[kAtOnce];
};

// One element.
__device__ inline float float_with(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
__device__ inline float load_one(const float* from) { return *from; }
// Two elements in one word, the first in the lower half. NaN stays NaN.
__device__ inline uint32_t bf16_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const bool nan = (bits & 0x7fffffff) > 0x7f800000;
  return nan ? (bits >> 16) | 0x40 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}
// pair_of<T>(first, second), T: Bf16 or F16.
template <class T>
__device__ uint32_t pair_of(float first, float second);
template <>
__device__ inline uint32_t pair_of<Bf16>(float first, float second) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
#else
  return bf16_bits(first) | bf16_bits(second) << 16;
#endif
}
template <>
__device__ inline uint32_t pair_of<F16>(float first, float second) {
#if defined(__CUDA_ARCH__)
  uint32_t pair;
  asm("{ .reg .b16 low, high; cvt.rn.f16.f32 low, %1; cvt.rn.f16.f32 high, %2; mov.b32 %0, {low, high}; }"
      : "=r"(pair)
      : "f"(first), "f"(second));
  return pair;
#else
  return uint32_t{narrowed_f16(first)} | uint32_t{narrowed_f16(second)} << 16;
#endif
}
// The two elements of a word of T.
template <class T>
__device__ Few<2> widened_pair(uint32_t pair);
template <>
__device__ inline Few<2> widened_pair<Bf16>(uint32_t pair) {
  return {{float_with(pair << 16), float_with(pair & 0xFFFF0000U)}};
}
template <>
__device__ inline Few<2> widened_pair<F16>(uint32_t pair) {
#if defined(__CUDA_ARCH__)
  Few<2> few;
  asm("{ .reg .b16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high; }"
      : "=f"(few.of[0]), "=f"(few.of[1])
      : "r"(pair));
  return few;
#else
  return {{widened_f16(static_cast<uint16_t>(pair)), widened_f16(static_cast<uint16_t>(pair >> 16))}};
#endif
}

__device__ inline float load_one(const Bf16* from) { return float_with(static_cast<uint32_t>(from->bits) << 16); }
__device__ inline float load_one(const F16* from) { return widened_pair<F16>(from->bits).of[0]; }
__device__ inline void store_one(float* to, float value) { *to = value; }
__device__ inline void store_one(Bf16* to, float value) {
  to->bits = static_cast<uint16_t>(pair_of<Bf16>(value, 0.0F));
}
__device__ inline void store_one(F16* to, float value) { to->bits = static_cast<uint16_t>(pair_of<F16>(value, 0.0F)); }

// The elements of one access of 16 bytes.
template <class T>
inline constexpr int kAtOnceOf = static_cast<int>(16 / sizeof(T));

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
__device__ Few<kAtOnce> load_few_narrow(const T* from) {
  Few<kAtOnce> few;
  if constexpr (kAtOnce == 1) {
    few.of[0] = load_one(from);
  } else {
    const auto pairs = *reinterpret_cast<const Few<kAtOnce / 2, uint32_t>*>(from);
    for (int k = 0; k < kAtOnce; k += 2) {
      const Few<2> pair = widened_pair<T>(pairs.of[k / 2]);
      few.of[k] = pair.of[0];
      few.of[k + 1] = pair.of[1];
    }
  }
  return few;
}
template <int kAtOnce>
__device__ Few<kAtOnce> load_few(const Bf16* from) {
  return load_few_narrow<kAtOnce>(from);
}
template <int kAtOnce>
__device__ Few<kAtOnce> load_few(const F16* from) {
  return load_few_narrow<kAtOnce>(from);
}

template <int kAtOnce, class T>
__device__ void store_few(T* to, const Few<kAtOnce, T>& few) {
  *reinterpret_cast<Few<kAtOnce, T>*>(to) = few;
}

template <int kAtOnce, class T>
__device__ void store_few_narrow(T* to, const Few<kAtOnce>& few) {
  if constexpr (kAtOnce == 1) {
    store_one(to, few.of[0]);
  } else {
    Few<kAtOnce / 2, uint32_t> pairs;
    for (int k = 0; k < kAtOnce; k += 2) pairs.of[k / 2] = pair_of<T>(few.of[k], few.of[k + 1]);
    *reinterpret_cast<Few<kAtOnce / 2, uint32_t>*>(to) = pairs;
  }
}
template <int kAtOnce>
__device__ void store_few(Bf16* to, const Few<kAtOnce>& few) {
  store_few_narrow(to, few);
}
template <int kAtOnce>
__device__ void store_few(F16* to, const Few<kAtOnce>& few) {
  store_few_narrow(to, few);
}

// Added to what is there, with `kAdd`.
template <bool kAdd, int kAtOnce, class T>
__device__ void put_few(T* to, Few<kAtOnce> few) {
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
