// Optimizer state in bf16 or in 8 bits: how a number in f32 is stored, and read back. An update reads its state,
// computes in f32, and stores the new state. Only what is stored is rounded.
//
// Rounding to the nearest would stall the state: Adam's second moment changes by a thousandth of its distance to the
// new value in a step, and bf16 has no number that near. So the direction is random, with the probability that makes
// the mean exact. The random bits depend on the run's seed, the iteration, and the bits of the element's weight and
// gradient, not on the element's place. So they are the same on every rank, in every layout, and for slices of a
// tensor.
//
// bf16: two random outcomes, the neighbours of the number.
// q8 and uq8: blocks of 256 elements (runtime/attrs/tensor.h), as in Dettmers et al., "8-bit Optimizers via Block-wise
// Quantization", 2022. The scale is the block's largest magnitude. A code is a number in [0, 1], in q8 with a sign: 0,
// or one of the decades up to 1, the largest with 64 cells (uq8: 128), and each further one with half as many.
//
//   q8    s 0000001  (10^-7, 10^-6]  1 cell        s: the sign. The leading 1 gives the decade, the bits after it the
//         s 000001x  (10^-6, 10^-5]  2 cells       cell. A cell stands for its middle, the last one for 1, so that the
//         …                                        largest element is exact.
//         s 1xxxxxx  (0.1, 1]        64 cells
//
// A number is stored as one of the two codes whose values enclose it. In uq8 only 0 becomes 0: a second moment of 0
// beside a first moment that is not would make a step of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/attrs/bf16.h"
#include "runtime/attrs/f16.h"
#include "runtime/attrs/tensor.h"

#ifdef __CUDACC__
#define PLIMSOLL_HOST_AND_DEVICE __host__ __device__
#else
#define PLIMSOLL_HOST_AND_DEVICE
#endif

namespace plimsoll::reduced {

PLIMSOLL_HOST_AND_DEVICE inline uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
PLIMSOLL_HOST_AND_DEVICE inline float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// What the random bits of all elements of an iteration have in common (SplitMix64).
PLIMSOLL_HOST_AND_DEVICE inline uint32_t noise_key(uint64_t seed, int64_t iteration) {
  uint64_t z = seed + 0x9E3779B97F4A7C15 * (static_cast<uint64_t>(iteration) + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return static_cast<uint32_t>((z ^ (z >> 31)) >> 32);
}

// 32 random bits (MurmurHash3's finalizer): the lower half is for the first state, the upper half for the second.
PLIMSOLL_HOST_AND_DEVICE inline uint32_t noise(uint32_t key, float weight, float gradient) {
  uint32_t h = (bits_of(weight) * 0x9E3779B1U + key) ^ (bits_of(gradient) * 0x85EBCA77U);
  h = (h ^ (h >> 16)) * 0x85EBCA6BU;
  h = (h ^ (h >> 13)) * 0xC2B2AE35U;
  return h ^ (h >> 16);
}

// The upper half of the number, after 16 random bits are added to the lower one. Infinity and NaN stay.
PLIMSOLL_HOST_AND_DEVICE inline uint16_t to_bf16(float value, uint32_t sixteen_random_bits) {
  const uint32_t bits = bits_of(value), finite = (bits & 0x7F800000U) != 0x7F800000U ? 0xFFFFU : 0U;
  return static_cast<uint16_t>((bits + (sixteen_random_bits & finite)) >> 16);
}
PLIMSOLL_HOST_AND_DEVICE inline float from_bf16(uint16_t bits) { return float_of(static_cast<uint32_t>(bits) << 16); }

// In (0, 1).
PLIMSOLL_HOST_AND_DEVICE inline float share_of(uint32_t sixteen_random_bits) {
  return (static_cast<float>(sixteen_random_bits) + 0.5F) * (1.0F / 65536);
}

// The decade that ends at 1 has 2^kDecades cells.
template <bool kSigned>
inline constexpr int kDecades = kSigned ? 6 : 7;

// Without its sign. magnitude = |value| / scale, in [0, 1]. `share`: the larger of the two values is taken if it is at
// least 1 minus where the number lies between them; 1/2 gives the nearer one. Without branches, so that loops are
// vectorized.
template <bool kSigned>
PLIMSOLL_HOST_AND_DEVICE inline uint32_t code_of(float magnitude, float share) {
  constexpr float kEnds[] = {1e-7F, 1e-6F, 1e-5F, 1e-4F, 1e-3F, 1e-2F, 1e-1F};
  constexpr float kFirst = kSigned ? 1e-7F : 1e-8F, kMost = static_cast<float>(1 << kDecades<kSigned>);
  float begin = kFirst, cells = 1, cells_per_unit = 1 / (9 * kFirst);
#ifdef __CUDACC__
#pragma unroll
#endif
  for (int d = 0; d < kDecades<kSigned>; ++d) {
    const float end = kEnds[kSigned ? d + 1 : d];
    const bool above = magnitude > end;
    begin = above ? end : begin;
    cells = above ? static_cast<float>(2 << d) : cells;
    cells_per_unit = above ? static_cast<float>(2 << d) / (9 * end) : cells_per_unit;
  }
  // Of the middles: 0 is that of the first cell, -1 and `cells` are those of the next decades. A cell of the decade
  // below has a fifth of the width.
  const float at = (magnitude - begin) * cells_per_unit - 0.5F;
  const float to_below = cells > 1 ? at * (1 / 0.6F) : magnitude * (1 / (5.5F * kFirst)) - 1;
  const float to_above = cells < kMost ? cells - 1 + (at - (cells - 1)) * (1.0F / 3)
                                       : cells - 2 + (at - (cells - 2)) * (1.0F / 1.5F);
  float number = at < 0 ? to_below : at;
  number = at > (cells < kMost ? cells - 1 : cells - 2) ? to_above : number;
  number = magnitude < 1 ? number : kMost - 1;  // NaN, too: as an integer, it would be undefined
  const int32_t code = static_cast<int32_t>(cells) + static_cast<int32_t>(number + share + 1) - 1;
  const int32_t least = !kSigned && magnitude > 0 ? 1 : 0, most = (2 << kDecades<kSigned>) - 1;
  const int32_t at_least = code > least ? code : least;
  return static_cast<uint32_t>(at_least < most ? at_least : most);  // 127 + share + 1 may be rounded up to 129
}

// What a code without its sign stands for.
template <bool kSigned>
PLIMSOLL_HOST_AND_DEVICE inline float magnitude_of(uint32_t code) {
  float begin = kSigned ? 1e-7F : 1e-8F, cells = 1;
#ifdef __CUDACC__
#pragma unroll
#endif
  for (int d = 0; d < kDecades<kSigned>; ++d) {
    const bool above = code >= 2U << d;
    begin = above ? 10 * begin : begin;
    cells = above ? static_cast<float>(2 << d) : cells;
  }
  if (code == 0) return 0;
  if (code + 1 == 2U << kDecades<kSigned>) return 1;
  return begin * (1 + 9 * (static_cast<float>(code) - cells + 0.5F) / cells);
}

// The same of all codes, with their signs.
struct Values {
  float of[256];
};

template <bool kSigned>
constexpr Values values_of_codes() {
  Values values{};
  double begin = kSigned ? 1e-7 : 1e-8;
  for (int cells = 1; cells <= 1 << kDecades<kSigned>; cells *= 2, begin *= 10)
    for (int cell = 0; cell < cells; ++cell) {
      const bool last = cell + 1 == cells && cells == 1 << kDecades<kSigned>;
      const float value = last ? 1.0F : static_cast<float>(begin * (1 + 9 * (cell + 0.5) / cells));
      values.of[cells + cell] = value;
      if (kSigned) values.of[128 + cells + cell] = -value;
    }
  return values;
}

#ifndef __CUDACC__

template <bool kSigned>
inline constexpr Values kValues = values_of_codes<kSigned>();

// `elements` of one block, at most 256.
template <bool kSigned>
void read_block(const std::byte* block, int64_t elements, float* to) {
  float scale;
  std::memcpy(&scale, block, sizeof scale);
  const auto* const codes = reinterpret_cast<const uint8_t*>(block + kScaleBytes);
  for (int64_t i = 0; i < elements; ++i) to[i] = scale * kValues<kSigned>.of[codes[i]];
}

// share(i): as in code_of().
template <bool kSigned, class Share>
void write_block(const float* from, int64_t elements, Share share, std::byte* block) {
  float scale = 0;
// Clang warns if it does not vectorize such a loop, for example in a debug build.
#if defined(_OPENMP) && !defined(__clang__)
#pragma omp simd reduction(max : scale)
#endif
  for (int64_t i = 0; i < elements; ++i) {
    const float magnitude = float_of(bits_of(from[i]) & 0x7FFFFFFFU);
    scale = magnitude > scale ? magnitude : scale;
  }
  std::memcpy(block, &scale, sizeof scale);
  auto* const codes = reinterpret_cast<uint8_t*>(block + kScaleBytes);
  const float divisor = scale > 0 ? scale : 1;
#if defined(_OPENMP) && !defined(__clang__)
#pragma omp simd
#endif
  for (int64_t i = 0; i < elements; ++i) {
    const uint32_t bits = bits_of(from[i]), code = code_of<kSigned>(float_of(bits & 0x7FFFFFFFU) / divisor, share(i));
    codes[i] = static_cast<uint8_t>(code | (kSigned && code > 0 ? bits >> 31 << 7 : 0));
  }
}

// All elements of a tensor, in memory order. Frozen weights are stored by these, too, some in f16.
inline void to_f32(DataType stored, const std::byte* from, int64_t elements, float* to) {
  if (stored == DataType::bf16) {
    for (int64_t i = 0; i < elements; ++i) to[i] = from_bf16(reinterpret_cast<const uint16_t*>(from)[i]);
    return;
  }
  if (stored == DataType::f16) {
    for (int64_t i = 0; i < elements; ++i) to[i] = widened_f16(reinterpret_cast<const uint16_t*>(from)[i]);
    return;
  }
  for (int64_t i = 0; i < elements; i += kBlockElements, from += kBlockElements + kScaleBytes) {
    const int64_t here = elements - i < kBlockElements ? elements - i : kBlockElements;
    stored == DataType::q8 ? read_block<true>(from, here, to + i) : read_block<false>(from, here, to + i);
  }
}

// Without random bits: what to_f32() gave becomes what it was.
inline void from_f32(DataType stored, const float* from, int64_t elements, std::byte* to) {
  if (stored == DataType::bf16) {
    for (int64_t i = 0; i < elements; ++i) reinterpret_cast<uint16_t*>(to)[i] = narrowed(from[i]);
    return;
  }
  if (stored == DataType::f16) {
    for (int64_t i = 0; i < elements; ++i) reinterpret_cast<uint16_t*>(to)[i] = narrowed_f16(from[i]);
    return;
  }
  const auto nearer = [](int64_t) { return 0.5F; };
  for (int64_t i = 0; i < elements; i += kBlockElements, to += kBlockElements + kScaleBytes) {
    const int64_t here = elements - i < kBlockElements ? elements - i : kBlockElements;
    stored == DataType::q8 ? write_block<true>(from + i, here, nearer, to)
                          : write_block<false>(from + i, here, nearer, to);
  }
}

#endif

}  // namespace plimsoll::reduced
