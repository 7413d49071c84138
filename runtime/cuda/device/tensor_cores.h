// Products of small matrices by a warp on tensor cores in TF32: D += A · B, as PTX's mma.m16n8k8. With g = lane / 4 and
// t = lane % 4, a lane holds
//
//   A  16 × 8   [0] (g, t)   [1] (g + 8, t)   [2] (g, t + 4)   [3] (g + 8, t + 4)
//   B   8 × 8   [0] (t, g)   [1] (t + 4, g)
//   D  16 × 8   [0] (g, 2t)  [1] (g, 2t + 1)  [2] (g + 8, 2t)  [3] (g + 8, 2t + 1)
//
// A lane has the same two rows of D as of A, but other columns. A D can still be the A of a next product without an
// exchange between lanes, because a sum does not depend on the order of its terms. The rows of that product's B are
// then taken in the order of D's columns: B's [0] is row 2t, and [1] row 2t + 1 (`as_left`).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

namespace plimsoll::cuda {

using Left = uint32_t[4];    // A, in TF32
using Right = uint32_t[2];   // B, in TF32
using Product = float[4];    // D

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

// To be called by all lanes of a warp. Devices without TF32 (before compute capability 8.0) exchange the elements.
__device__ inline void add_product(Product& d, const Left& a, const Right& b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  const auto of = [](uint32_t bits, int lane) {
    bits = __shfl_sync(0xFFFFFFFFU, bits, lane);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
  };
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  for (int k = 0; k < 8; ++k) {
    const int high = k / 4, from = k % 4;
    const float above = of(a[2 * high], 4 * g + from), below = of(a[2 * high + 1], 4 * g + from);
    const float left = of(b[high], 8 * t + from), right = of(b[high], 8 * t + 4 + from);
    d[0] += above * left;
    d[1] += above * right;
    d[2] += below * left;
    d[3] += below * right;
  }
#endif
}

__device__ inline void as_left(const Product& d, Left& a) {
  a[0] = rounded_to_tf32(d[0]);
  a[1] = rounded_to_tf32(d[2]);
  a[2] = rounded_to_tf32(d[1]);
  a[3] = rounded_to_tf32(d[3]);
}

}  // namespace plimsoll::cuda
