// Products of small matrices by a warp on tensor cores, D += A · B: of factors in TF32, as PTX's mma.m16n8k8, or in
// bf16 or f16, as its mma.m16n8k16. Sums are in f32. A is 16 × kDepth, B is kDepth × 8, D is 16 × 8. A word has kOfWord
// adjacent elements of a row of A or of a column of B. With g = lane / 4 and t = lane % 4, a lane holds these words, by
// row and by column or row:
//
//               TF32: kDepth 8, kOfWord 1                           bf16, f16: kDepth 16, kOfWord 2
//   A  [0] [1]  (g, t)       (g + 8, t)                             (g, 2t)       (g + 8, 2t)
//      [2] [3]  (g, t + 4)   (g + 8, t + 4)                         (g, 2t + 8)   (g + 8, 2t + 8)
//   B  [0] [1]  (t, g)       (t + 4, g)                             (2t, g)       (2t + 8, g)
//   D  [0] [1]  (g, 2t)      (g, 2t + 1)       [2] [3]  (g + 8, 2t)   (g + 8, 2t + 1)
//
// A D can be the A of a next product without an exchange between lanes. In 16 bits, two of them side by side are that A
// as they lie. In TF32 a lane has other columns of A than of D. A sum does not depend on the order of its terms, so
// that product's rows of B are then taken in the order of D's columns: B's [0] is row 2t, and [1] row 2t + 1.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/cuda/device/vector.h"

namespace plimsoll::cuda {

using Left = uint32_t[4];   // A
using Right = uint32_t[2];  // B
using Product = float[4];   // D

__device__ inline int lane_row() { return static_cast<int>(threadIdx.x) % 32 / 4; }     // g
__device__ inline int lane_column() { return static_cast<int>(threadIdx.x) % 32 % 4; }  // t

// To TF32: to nearest, ties away from zero.
__device__ inline uint32_t rounded_to_tf32(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
#else
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7F800000U) == 0x7F800000U) return bits;  // infinite or NaN
  return (bits + 0x1000U) & 0xFFFFE000U;
#endif
}

// The product on devices without such tensor cores (before compute capability 8.0) and in the emulation: lanes exchange
// their words, two at a time, because an exchange takes longer than the products. widened(word) is its elements.
template <int kOfWord, class Widened>
__device__ void add_exchanged(Product& d, const Left& a, const Right& b, Widened widened) {
  const int g = lane_row(), t = lane_column();
  const auto words = [](uint32_t low, uint32_t high, int lane) {
    const uint64_t both = __shfl_sync(0xFFFFFFFFU, uint64_t{high} << 32 | low, lane);
    return Few<2, uint32_t>{{static_cast<uint32_t>(both), static_cast<uint32_t>(both >> 32)}};
  };
  Few<2, uint32_t> above[4], below[4], left[4], right[4];
  for (int from = 0; from < 4; ++from) {
    above[from] = words(a[0], a[2], 4 * g + from);
    below[from] = words(a[1], a[3], 4 * g + from);
    left[from] = words(b[0], b[1], 8 * t + from);
    right[from] = words(b[0], b[1], 8 * t + 4 + from);
  }
  for (int word = 0; word < 8; ++word) {
    const int high = word / 4, from = word % 4;
    const Few<kOfWord> rows[] = {widened(above[from].of[high]), widened(below[from].of[high])};
    const Few<kOfWord> columns[] = {widened(left[from].of[high]), widened(right[from].of[high])};
    for (int k = 0; k < kOfWord; ++k)
      for (int i = 0; i < 4; ++i) d[i] += rows[i / 2].of[k] * columns[i % 2].of[k];
  }
}

// Each of the two has these functions. Elements of tiles are in shared memory, `stride` of them from row to row; all
// lanes of a warp call a function together.
//
//   load(from)              four elements of a row in global memory, as a tile's elements
//   word(from)              kOfWord elements of a row in global memory, as a word of A
//   left(products, a)       A from kDepth / 8 products side by side
//   turned(tile, stride, b) B whose columns are 8 rows of the tile, kDepth elements of each from `tile` on
//   plain(tile, stride, b)  B whose rows are kDepth rows of the tile, in the order of left(): 8 elements of each
//   add(d, a, b)            D += A · B
struct InTf32 {
  using Element = uint32_t;
  static constexpr int kOfWord = 1, kDepth = 8;

  static __device__ Few<4, Element> load(const float* from) {
    const Few<4> values = load_few<4>(from);
    Few<4, Element> rounded;
    for (int k = 0; k < 4; ++k) rounded.of[k] = rounded_to_tf32(values.of[k]);
    return rounded;
  }
  static __device__ uint32_t word(const float* from) { return rounded_to_tf32(*from); }
  static __device__ void left(const Product* products, Left& a) {
    const Product& d = products[0];
    a[0] = rounded_to_tf32(d[0]);
    a[1] = rounded_to_tf32(d[2]);
    a[2] = rounded_to_tf32(d[1]);
    a[3] = rounded_to_tf32(d[3]);
  }
  static __device__ void turned(const Element* tile, int stride, Right& b) {
    const Element* const of = tile + lane_row() * stride + lane_column();
    b[0] = of[0];
    b[1] = of[4];
  }
  static __device__ void plain(const Element* tile, int stride, Right& b) {
    const Element* const of = tile + 2 * lane_column() * stride + lane_row();
    b[0] = of[0];
    b[1] = of[stride];
  }
  static __device__ void add(Product& d, const Left& a, const Right& b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    add_exchanged<kOfWord>(d, a, b, [](uint32_t word) { return Few<1>{{float_with(word)}}; });
#endif
  }
};

// T: Bf16 or F16.
template <class T>
struct InNarrow {
  using Element = uint16_t;
  static constexpr int kOfWord = 2, kDepth = 16;

  static __device__ Few<4, Element> load(const T* from) { return *reinterpret_cast<const Few<4, Element>*>(from); }
  static __device__ uint32_t word(const T* from) { return *reinterpret_cast<const uint32_t*>(from); }
  static __device__ void left(const Product* products, Left& a) {
    for (int side = 0; side < 2; ++side) {
      a[2 * side] = pair_of<T>(products[side][0], products[side][1]);
      a[2 * side + 1] = pair_of<T>(products[side][2], products[side][3]);
    }
  }
  static __device__ void turned(const Element* tile, int stride, Right& b) {
    const Element* const of = tile + lane_row() * stride + 2 * lane_column();
    b[0] = *reinterpret_cast<const uint32_t*>(of);
    b[1] = *reinterpret_cast<const uint32_t*>(of + 8);
  }
  // ldmatrix reads 8 × 8 elements from 8 rows of 16 bytes, whose addresses are those of lanes 0 to 7, and 8 to 15 for
  // the second word. Transposed, a lane has the elements (2t, g) and (2t + 1, g).
  static __device__ void plain(const Element* tile, int stride, Right& b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const Element* const row = tile + static_cast<int>(threadIdx.x) % 16 * stride;
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1])
                 : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
                 : "memory");
#else
    for (int word = 0; word < 2; ++word) {
      const Element* const of = tile + (2 * lane_column() + 8 * word) * stride + lane_row();
      b[word] = uint32_t{of[0]} | uint32_t{of[stride]} << 16;
    }
#endif
  }
  static __device__ void add(Product& d, const Left& a, const Right& b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (std::is_same_v<T, Bf16>) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
          "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    } else {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
          "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
#else
    add_exchanged<kOfWord>(d, a, b, [](uint32_t word) { return widened_pair<T>(word); });
#endif
  }
};

// The products of tensors of T: in TF32 for float.
template <class T>
using Cores = std::conditional_t<std::is_same_v<T, float>, InTf32, InNarrow<T>>;

}  // namespace plimsoll::cuda
