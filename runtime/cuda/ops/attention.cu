// AttentionForward  {q, k, v, mask, y, statistics}                          compiler/ops/scaleddotproductattention.cpp
// AttentionBackward {q, k, v, mask, y, statistics, dy, dq, dk, dv, dscores}
//
//   default      in f32
//   tf32_tiles   products on tensor cores (attention_tiles.cu)
//   bf16_tiles   the same in bf16, of operands in bf16: the default then. f16_tiles: likewise
//
//   s = scale · q kᵀ + mask    p = exp(s - largest) · inverse_sum    y = (m · p) v
//   dv = (m · p)ᵀ dy    ds = p · (m · (dy vᵀ) - Σ y dy)    dq = scale · ds k    dk = scale · dsᵀ q
//   m: the factors of a dropout, 0 or 1 / (1 - dropped), the host's bit for bit; without one, 1
//
// Tiles of 32 queries by 32 keys (Dao et al., FlashAttention, 2022). A block has a tile of queries (forward, dq) or of
// keys (dk and dv) and loops over the other; each element of a result is written by one block, in a fixed order,
// without atomics. Scores are computed twice in the backward for that.
//
// A block has 8 warps. In a tile of scores, a thread has the key of its lane and every eighth query, so a row belongs
// to one warp. In a tile of results, it has the same rows and every 32nd element, in registers. The factors of a
// product pass through shared memory, 32 elements of a head at a time.
#include "runtime/cuda/ops/attention.h"

#include <algorithm>

#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/cuda/ops/attention_cudnn.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

using cuda::AttentionDropout;
using cuda::AttentionGiven;
using cuda::score_of;

constexpr int kAttentionTile = 32;
constexpr int kAttentionThreads = 256;
constexpr int kAttentionWarps = kAttentionThreads / 32;
constexpr int kAttentionRows = kAttentionTile / kAttentionWarps;  // of a thread

// One more column: the threads of a warp that read a column access different banks.
using AttentionTile = float[kAttentionTile][kAttentionTile + 1];

__device__ int lane_number() { return static_cast<int>(threadIdx.x) % 32; }
__device__ int warp_number() { return static_cast<int>(threadIdx.x) / 32; }
__device__ int row_number(int r) { return warp_number() + r * kAttentionWarps; }

// Of the lanes of a warp, combined in a fixed order; lane 0 has the result.
__device__ float warp_max(float value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    const float other = __shfl_down_sync(0xFFFFFFFFU, value, distance);
    value = other > value ? other : value;
  }
  return value;
}
__device__ float warp_sum(float value) {
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
    tile[row][lane] = inside ? cuda::load_one(from + row * size + column + lane) : 0.0F;
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
        cuda::store_one(to + row_number(r) * size + column, results[r][c] * factors[r]);
  }
}

// The tile of a block: rows from `first` on, of a head of a sample.
struct AttentionPlace {
  int64_t sample, head, first, count;
};

__device__ AttentionPlace attention_place(int64_t heads, int64_t length) {
  const int64_t tiles = (length + kAttentionTile - 1) / kAttentionTile, block = blockIdx.x;
  const int64_t first = block % tiles * kAttentionTile;
  return {block / tiles / heads, block / tiles % heads, first, min(int64_t{kAttentionTile}, length - first)};
}

template <int kColumns, class T, class Dropout>
__global__ void __launch_bounds__(kAttentionThreads)
    attention_kernel(AttentionShape s, const T* q, const T* k, const T* v, const unsigned char* mask, Dropout dropout,
                     T* y, float* statistics) {
  __shared__ AttentionTile a, b, p;
  __shared__ float bases[kAttentionTile], factors[kAttentionTile];
  const AttentionPlace at = attention_place(s.heads, s.queries);
  const int lane = lane_number();
  const int64_t row = (at.sample * s.heads + at.head) * s.queries + at.first;
  const int64_t of_keys = (at.sample * s.key_heads + at.head / (s.heads / s.key_heads)) * s.keys;
  const uint64_t stream = dropout.stream();
  // Of lane 0: the largest score so far, and the sum of exponentials relative to it.
  float largest[kAttentionRows], sum[kAttentionRows] = {}, results[kAttentionRows][kColumns] = {};
  for (int r = 0; r < kAttentionRows; ++r) largest[r] = -INFINITY;
  if (threadIdx.x < kAttentionTile) bases[threadIdx.x] = 0;
  const int64_t end = cuda::end_key(s, at.first + at.count);
  for (int64_t key = cuda::first_key<kAttentionTile>(s, at.first); key < end; key += kAttentionTile) {
    const int64_t count = min(int64_t{kAttentionTile}, s.keys - key);
    float scores[kAttentionRows] = {};
    add_products(a, b, q + row * s.size, at.count, k + (of_keys + key) * s.size, count, s.size, scores);
    for (int r = 0; r < kAttentionRows; ++r) {
      scores[r] = score_of(s, mask, at.sample, at.head, at.first + row_number(r), key + lane, scores[r]);
      const float most = warp_max(scores[r]);
      if (lane != 0) continue;
      const float before = largest[r];
      if (most > before) largest[r] = most;
      // Subtracting -∞ from itself would give NaN; subtracting 0 gives e^-∞ = 0.
      const float base = largest[r] == -INFINITY ? 0.0F : largest[r], factor = expf(before - base);
      bases[row_number(r)] = base;
      factors[row_number(r)] = factor;
      sum[r] *= factor;
    }
    __syncthreads();
    for (int r = 0; r < kAttentionRows; ++r) {
      const float power = expf(scores[r] - bases[row_number(r)]), factor = factors[row_number(r)];
      p[row_number(r)][lane] = power * dropout.factor(stream, s, row + row_number(r), key + lane);
      sum[r] += warp_sum(power);  // of use in lane 0
      for (int c = 0; c < kColumns; ++c) results[r][c] *= factor;
    }
    add_weighted<false>(b, p, v + (of_keys + key) * s.value_size, count, s.value_size, results);
  }
  __syncthreads();
  for (int r = 0; r < kAttentionRows; ++r) {
    if (lane != 0) continue;
    const float inverse = sum[r] == 0 ? 0 : 1 / sum[r];
    factors[row_number(r)] = inverse;
    if (statistics == nullptr || row_number(r) >= at.count) continue;
    statistics[2 * (row + row_number(r))] = bases[row_number(r)];
    statistics[2 * (row + row_number(r)) + 1] = inverse;
  }
  __syncthreads();
  float inverses[kAttentionRows];
  for (int r = 0; r < kAttentionRows; ++r) inverses[r] = factors[row_number(r)];
  store_rows(results, inverses, y + row * s.value_size, at.count, s.value_size);
}

// Σ y · dy of each query: a warp per row.
template <class T>
__global__ void along_kernel(int64_t rows, int64_t size, const T* y, const T* dy, float* along) {
  const int64_t row = int64_t{blockIdx.x} * kAttentionWarps + warp_number();
  float sum = 0;
  if (row < rows)
    for (int64_t e = lane_number(); e < size; e += 32)
      sum += cuda::load_one(y + row * size + e) * cuda::load_one(dy + row * size + e);
  sum = warp_sum(sum);
  if (row < rows && lane_number() == 0) along[row] = sum;
}

// The probabilities of a tile, with the dropout, and the gradients of the scores, for the key of this lane. `row` is
// the first query, `key_row` the first key, as rows of the tensors.
template <class T, class Dropout>
__device__ void slopes_of(const AttentionShape& s, const AttentionGiven<T>& g, const Dropout& dropout, uint64_t stream,
                          AttentionTile& a, AttentionTile& b, const AttentionPlace& at, int64_t row, int64_t key,
                          int64_t key_row, float (&p)[kAttentionRows], float (&slopes)[kAttentionRows]) {
  const int64_t count = min(int64_t{kAttentionTile}, s.keys - key);
  for (int r = 0; r < kAttentionRows; ++r) p[r] = slopes[r] = 0;
  add_products(a, b, g.q + row * s.size, at.count, g.k + key_row * s.size, count, s.size, p);
  add_products(a, b, g.dy + row * s.value_size, at.count, g.v + key_row * s.value_size, count, s.value_size, slopes);
  for (int r = 0; r < kAttentionRows; ++r) {
    const int64_t i = at.first + row_number(r);
    const float score = score_of(s, g.mask, at.sample, at.head, i, key + lane_number(), p[r]);
    const bool inside = i < s.queries;
    const int64_t of_query = inside ? row + row_number(r) : row;
    p[r] = inside ? expf(score - g.statistics[2 * of_query]) * g.statistics[2 * of_query + 1] : 0.0F;
    const float factor = dropout.factor(stream, s, of_query, key + lane_number());
    slopes[r] = p[r] * (factor * slopes[r] - g.along[of_query]);
    p[r] *= factor;
  }
}

template <int kColumns, class T, class Dropout>
__global__ void __launch_bounds__(kAttentionThreads)
    attention_keys_kernel(AttentionShape s, AttentionGiven<T> g, Dropout dropout, T* dk, T* dv) {
  __shared__ AttentionTile a, b, of_p, of_slopes;
  const AttentionPlace place = attention_place(s.key_heads, s.keys);
  const int64_t key_row = (place.sample * s.key_heads + place.head) * s.keys + place.first;
  const uint64_t stream = dropout.stream();
  float to_dk[kAttentionRows][kColumns] = {}, to_dv[kAttentionRows][kColumns] = {};
  const int64_t shared = s.heads / s.key_heads, end = cuda::end_query(s, place.first + place.count);
  for (int64_t head = place.head * shared; head < (place.head + 1) * shared; ++head) {
    for (int64_t i = cuda::first_query<kAttentionTile>(s, place.first); i < end; i += kAttentionTile) {
      const AttentionPlace at{place.sample, head, i, min(int64_t{kAttentionTile}, s.queries - i)};
      const int64_t row = (place.sample * s.heads + head) * s.queries + i;
      float p[kAttentionRows], slopes[kAttentionRows];
      slopes_of(s, g, dropout, stream, a, b, at, row, place.first, key_row, p, slopes);
      for (int r = 0; r < kAttentionRows; ++r) {
        of_p[row_number(r)][lane_number()] = p[r];
        of_slopes[row_number(r)][lane_number()] = slopes[r];
      }
      if (dv) add_weighted<true>(b, of_p, g.dy + row * s.value_size, at.count, s.value_size, to_dv);
      if (dk) add_weighted<true>(b, of_slopes, g.q + row * s.size, at.count, s.size, to_dk);
    }
  }
  float ones[kAttentionRows], scales[kAttentionRows];
  for (int r = 0; r < kAttentionRows; ++r) {
    ones[r] = 1;
    scales[r] = s.scale;
  }
  if (dv) store_rows(to_dv, ones, dv + key_row * s.value_size, place.count, s.value_size);
  if (dk) store_rows(to_dk, scales, dk + key_row * s.size, place.count, s.size);
}

// dq may have the bytes of q, dy or y: it is written after the block's last barrier, when all of its rows are read.
template <int kColumns, class T, class Dropout>
__global__ void __launch_bounds__(kAttentionThreads)
    attention_queries_kernel(AttentionShape s, AttentionGiven<T> g, Dropout dropout, T* dq, float* dscores) {
  __shared__ AttentionTile a, b, of_slopes;
  const AttentionPlace at = attention_place(s.heads, s.queries);
  const int64_t row = (at.sample * s.heads + at.head) * s.queries + at.first;
  const int64_t of_keys = (at.sample * s.key_heads + at.head / (s.heads / s.key_heads)) * s.keys;
  const uint64_t stream = dropout.stream();
  float to_dq[kAttentionRows][kColumns] = {};
  const int64_t first = cuda::first_key<kAttentionTile>(s, at.first), end = cuda::end_key(s, at.first + at.count);
  for (int64_t key = dscores ? 0 : first; key < (dscores ? s.keys : end); key += kAttentionTile) {
    const bool seen = key >= first && key < end;
    float p[kAttentionRows], slopes[kAttentionRows] = {};
    if (seen) slopes_of(s, g, dropout, stream, a, b, at, row, key, of_keys + key, p, slopes);
    for (int r = 0; r < kAttentionRows; ++r) {
      if (seen) of_slopes[row_number(r)][lane_number()] = slopes[r];
      if (dscores && row_number(r) < at.count && key + lane_number() < s.keys)
        dscores[(row + row_number(r)) * s.keys + key + lane_number()] = slopes[r];
    }
    if (seen && dq)
      add_weighted<false>(b, of_slopes, g.k + (of_keys + key) * s.size, min(int64_t{kAttentionTile}, s.keys - key),
                          s.size, to_dq);
  }
  __syncthreads();
  float scales[kAttentionRows];
  for (int r = 0; r < kAttentionRows; ++r) scales[r] = s.scale;
  if (dq) store_rows(to_dq, scales, dq + row * s.size, at.count, s.size);
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

AttentionShape attention_shape(const AttentionAttrs& attrs, std::span<const OperandDesc> operands) {
  cuda::need_plain(operands);
  return {attrs, operands[0].tensor, operands[1].tensor, operands[2].tensor, operands[3]};
}

const unsigned char* mask_of(std::byte* const* operands) { return reinterpret_cast<const unsigned char*>(operands[3]); }

// On tensor cores (attention_tiles.cu): in TF32, if the plan's arithmetic admits it, and of operands in bf16 or f16
// in their type.
constexpr std::string_view tiles_of(DataType type) {
  return type == DataType::f32 ? "tf32_tiles" : type == DataType::bf16 ? "bf16_tiles" : "f16_tiles";
}

std::vector<Algorithm> attention_algorithms(const AttentionShape& s, DataType type, bool backward, bool wants_scores,
                                            int64_t workspace_bytes) {
  std::vector<Algorithm> all = {{.workspace_bytes = workspace_bytes}};
  if (wants_scores || !cuda::attention_takes_tiles(s, type, backward)) return all;
  const bool tf32 = type == DataType::f32;
  all.push_back({.name = std::string(tiles_of(type)), .workspace_bytes = workspace_bytes, .tf32 = tf32});
  if (!tf32) std::swap(all[0], all[1]);
  return all;
}

// The gradient of the mask has the scores' shape: only the kernels in f32 write it.
bool wants_scores(std::span<const OperandDesc> operands) { return operands[10].access != Access::absent; }

int64_t along_bytes(const AttentionShape& s) { return s.rows() * static_cast<int64_t>(sizeof(float)); }

// Whether one of our own algorithms is on tensor cores. Empty: the first one.
bool in_tiles(const std::vector<Algorithm>& offered, std::string_view algorithm) {
  for (const Algorithm& one : offered)
    if (!cuda::is_of_cudnn(one.name) && (algorithm.empty() || algorithm == one.name)) return one.name != Algorithm{}.name;
  throw KernelError("attention has no algorithm '" + std::string(algorithm) + "' for these heads");
}

}  // namespace

std::vector<Algorithm> AttentionForward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return cuda::with_cudnn_attention(
      attention_algorithms(attention_shape(attrs, operands), operands[0].tensor.type, false, false, 0), attrs, operands,
      false);
}

std::unique_ptr<Kernel> AttentionForward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                               std::string_view algorithm) {
  if (cuda::is_of_cudnn(algorithm)) return cuda::cudnn_attention(attrs, operands, false, algorithm);
  const AttentionShape s = attention_shape(attrs, operands);
  const bool tiles = in_tiles(algorithms(attrs, operands), algorithm);
  by_head_size(s, [](auto) {});
  return cuda::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return cuda::kernel([s, attrs, tiles](const RunContext& context, std::byte* const* operand, std::byte*) {
      const AttentionDropout dropout(attrs, s, context);
      const T *const q = cuda::in<T>(operand, 0), *const k = cuda::in<T>(operand, 1),
                     *const v = cuda::in<T>(operand, 2);
      T* const y = cuda::out<T>(operand, 4);
      float* const statistics = cuda::out(operand, 5);
      if (tiles) return cuda::launch_attention_tiles(context, s, q, k, v, mask_of(operand), dropout, y, statistics);
      by_head_size(s, [&](auto columns) {
        cuda::by_dropout(dropout, [&](auto drop) {
          cuda::launch("attention", attention_kernel<decltype(columns)::value, T, decltype(drop)>,
                       s.samples * s.heads * cuda::divided_up(s.queries, kAttentionTile), kAttentionThreads, context, s,
                       q, k, v, mask_of(operand), drop, y, statistics);
        });
      });
    });
  });
}

std::vector<Algorithm> AttentionBackward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const AttentionShape s = attention_shape(attrs, operands);
  return cuda::with_cudnn_attention(
      attention_algorithms(s, operands[0].tensor.type, true, wants_scores(operands), along_bytes(s)), attrs, operands,
      true);
}

std::unique_ptr<Kernel> AttentionBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                std::string_view algorithm) {
  if (cuda::is_of_cudnn(algorithm)) return cuda::cudnn_attention(attrs, operands, true, algorithm);
  const AttentionShape s = attention_shape(attrs, operands);
  const bool tiles = in_tiles(algorithms(attrs, operands), algorithm);
  by_head_size(s, [](auto) {});
  return cuda::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return cuda::kernel([s, attrs, tiles](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
      const AttentionDropout dropout(attrs, s, context);
      float* const along = reinterpret_cast<float*>(workspace);
      const T* const dy = cuda::in<T>(operand, 6);
      cuda::launch("products of attention's results and gradients", along_kernel<T>,
                   cuda::divided_up(s.rows(), kAttentionWarps), kAttentionThreads, context, s.rows(), s.value_size,
                   cuda::in<T>(operand, 4), dy, along);
      const AttentionGiven<T> given{
          cuda::in<T>(operand, 0), cuda::in<T>(operand, 1), cuda::in<T>(operand, 2), cuda::in(operand, 5), dy, along,
          mask_of(operand)};
      T *const dq = cuda::out<T>(operand, 7), *const dk = cuda::out<T>(operand, 8),
               *const dv = cuda::out<T>(operand, 9);
      if (tiles) {
        if (dk || dv) cuda::launch_attention_keys_tiles(context, s, given, dropout, dk, dv);
        if (dq) cuda::launch_attention_queries_tiles(context, s, given, dropout, dq);
        return;
      }
      by_head_size(s, [&](auto columns) {
        cuda::by_dropout(dropout, [&](auto drop) {
          constexpr int kColumns = decltype(columns)::value;
          using Drop = decltype(drop);
          if (dk || dv)
            cuda::launch("attention's gradient of keys and values", attention_keys_kernel<kColumns, T, Drop>,
                         s.samples * s.key_heads * cuda::divided_up(s.keys, kAttentionTile), kAttentionThreads, context,
                         s, given, drop, dk, dv);
          if (dq || operand[10])
            cuda::launch("attention's gradient of queries", attention_queries_kernel<kColumns, T, Drop>,
                         s.samples * s.heads * cuda::divided_up(s.queries, kAttentionTile), kAttentionThreads, context,
                         s, given, drop, dq, cuda::out(operand, 10));
        });
      });
    });
  });
}

}  // namespace plimsoll
