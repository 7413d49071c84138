// What the kernels of attention in f32 share (attention.cu, attention_backward.cu).
//
// Tiles of 32 queries by 32 keys (Dao et al., FlashAttention, 2022). A block has a tile of queries (forward, dq) or of
// keys (dk and dv) and loops over the other; each element of a result is written by one block, in a fixed order,
// without atomics.
//
// A block has 8 warps. In a tile of scores, a thread has the key of its lane and every eighth query, so a row belongs
// to one warp. In a tile of results, it has the same rows and every 32nd element, in registers. The factors of a
// product pass through shared memory, 32 elements of a head at a time.
#pragma once

#include <algorithm>

#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/cuda/ops/attention.h"
#include "runtime/cuda/ops/attention_cudnn.h"

namespace plimsoll::cuda {

inline constexpr int kAttentionTile = 32;
inline constexpr int kAttentionThreads = 256;
inline constexpr int kAttentionWarps = kAttentionThreads / 32;
inline constexpr int kAttentionRows = kAttentionTile / kAttentionWarps;  // of a thread

// One more column: the threads of a warp that read a column access different banks.
using AttentionTile = float[kAttentionTile][kAttentionTile + 1];

__device__ inline int lane_number() { return static_cast<int>(threadIdx.x) % 32; }
__device__ inline int warp_number() { return static_cast<int>(threadIdx.x) / 32; }
__device__ inline int row_number(int r) { return warp_number() + r * kAttentionWarps; }

// Of the lanes of a warp, combined in a fixed order; lane 0 has the result.
__device__ inline float warp_max(float value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    const float other = __shfl_down_sync(0xFFFFFFFFU, value, distance);
    value = other > value ? other : value;
  }
  return value;
}
__device__ inline float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xFFFFFFFFU, value, distance);
  return value;
}

// 32 columns of `count` rows of `size` elements; zeros beyond.
template <class T>
__device__ void load_tile(AttentionTile& tile, const T* from, int64_t count, int64_t size, int64_t column) {
  const int lane = lane_number();
  for (int r = 0; r < kAttentionRows; ++r) {
    const int row = row_number(r);
    const bool inside = row < count && column + lane < size;
    tile[row][lane] = inside ? load_one(from + row * size + column + lane) : 0.0F;
  }
}

// products[r] += Σ a[row r] · b[lane]. Begins with a barrier: the tiles may still be read before.
template <class T>
__device__ void add_products(AttentionTile& of_a, AttentionTile& of_b, const T* a, int64_t a_count, const T* b,
                             int64_t b_count, int64_t size, float (&products)[kAttentionRows]) {
  for (int64_t column = 0; column < size; column += kAttentionTile) {
    __syncthreads();
    load_tile(of_a, a, a_count, size, column);
    load_tile(of_b, b, b_count, size, column);
    __syncthreads();
#pragma unroll
    for (int d = 0; d < kAttentionTile; ++d) {
      const float right = of_b[lane_number()][d];
      for (int r = 0; r < kAttentionRows; ++r) products[r] += of_a[row_number(r)][d] * right;
    }
  }
}

// results[r][c] += Σ weights[row r][j] · from[j][32 c + lane], or weights[j][row r] if kTurned. Begins with a barrier:
// then the weights are there.
template <bool kTurned, int kColumns, class T>
__device__ void add_weighted(AttentionTile& of_rows, const AttentionTile& weights, const T* from, int64_t count,
                             int64_t size, float (&results)[kAttentionRows][kColumns]) {
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    if (c * kAttentionTile >= size) continue;
    __syncthreads();
    load_tile(of_rows, from, count, size, c * kAttentionTile);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kAttentionTile; ++j) {
      const float right = of_rows[j][lane_number()];
      for (int r = 0; r < kAttentionRows; ++r)
        results[r][c] += (kTurned ? weights[j][row_number(r)] : weights[row_number(r)][j]) * right;
    }
  }
}

template <int kColumns, class T>
__device__ void store_rows(const float (&results)[kAttentionRows][kColumns], const float (&factors)[kAttentionRows],
                           T* to, int64_t count, int64_t size) {
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    const int64_t column = c * kAttentionTile + lane_number();
    for (int r = 0; r < kAttentionRows; ++r)
      if (row_number(r) < count && column < size)
        store_one(to + row_number(r) * size + column, results[r][c] * factors[r]);
  }
}

// The tile of a block: rows from `first` on, of a head of a sample.
struct AttentionPlace {
  int64_t sample, head, first, count;
};

__device__ inline AttentionPlace attention_place(int64_t heads, int64_t length) {
  const int64_t tiles = (length + kAttentionTile - 1) / kAttentionTile, block = blockIdx.x;
  const int64_t first = block % tiles * kAttentionTile;
  return {block / tiles / heads, block / tiles % heads, first, min(int64_t{kAttentionTile}, length - first)};
}

// body(std::integral_constant<int, kColumns>): a thread holds kColumns elements of each of its rows.
template <class Body>
void by_head_size(const AttentionShape& s, Body body) {
  const int64_t size = std::max(s.size, s.value_size);
  if (size <= 32) return body(std::integral_constant<int, 1>{});
  if (size <= 64) return body(std::integral_constant<int, 2>{});
  if (size <= 128) return body(std::integral_constant<int, 4>{});
  if (size <= 256) return body(std::integral_constant<int, 8>{});
  throw KernelError("attention with heads of more than 256 elements");
}

inline AttentionShape attention_shape(const AttentionAttrs& attrs, std::span<const OperandDesc> operands) {
  need_plain(operands);
  return {attrs, operands[0].tensor, operands[1].tensor, operands[2].tensor, operands[3]};
}

inline const unsigned char* mask_of(std::byte* const* operands) {
  return reinterpret_cast<const unsigned char*>(operands[3]);
}

// On tensor cores (attention_tiles.cu): in TF32, if the plan's arithmetic admits it, and of operands in bf16 or f16
// in their type.
inline constexpr std::string_view tiles_of(DataType type) {
  return type == DataType::f32 ? "tf32_tiles" : type == DataType::bf16 ? "bf16_tiles" : "f16_tiles";
}

inline std::vector<Algorithm> attention_algorithms(const AttentionShape& s, DataType type, bool backward,
                                                   bool wants_scores, int64_t workspace_bytes) {
  std::vector<Algorithm> all = {{.workspace_bytes = workspace_bytes}};
  if (wants_scores || !attention_takes_tiles(s, type, backward)) return all;
  const bool tf32 = type == DataType::f32;
  all.push_back({.name = std::string(tiles_of(type)), .workspace_bytes = workspace_bytes, .tf32 = tf32});
  if (!tf32) std::swap(all[0], all[1]);
  return all;
}

// Whether one of our own algorithms is on tensor cores. Empty: the first one. `offered`: our own. A trainer that runs
// one of them does not ask cuDNN what it has.
inline bool in_tiles(const std::vector<Algorithm>& offered, std::string_view algorithm) {
  for (const Algorithm& one : offered)
    if (algorithm.empty() || algorithm == one.name) return one.name != Algorithm{}.name;
  throw KernelError("attention has no algorithm '" + std::string(algorithm) + "' for these heads");
}

}  // namespace plimsoll::cuda
