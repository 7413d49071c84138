// AttentionBackward {q, k, v, mask, y, statistics, dy, dq, dk, dv, dscores}. The algorithms are those of attention.cu.
//
//   dv = (m · p)ᵀ dy    ds = p · (m · (dy vᵀ) - Σ y dy)    dq = scale · ds k    dk = scale · dsᵀ q
//
// Scores are computed twice: each element of a result is written by one block.
#include "runtime/cuda/ops/attention_rows.h"
#include "runtime/kernels.h"

namespace plimsoll::cuda {
namespace {

// Σ y · dy of each query: a warp per row. kTurned: y is [N, T, H, E].
template <bool kTurned, class T>
__global__ void along_kernel(AttentionShape s, const T* y, const T* dy, float* along) {
  const int64_t row = int64_t{blockIdx.x} * kAttentionWarps + warp_number(), size = s.value_size;
  const int64_t rows = s.samples * s.heads * s.queries;
  int64_t of_y = row;
  if constexpr (kTurned) {
    const int64_t query = row % s.queries, head = row / s.queries % s.heads, sample = row / s.queries / s.heads;
    of_y = (sample * s.queries + query) * s.heads + head;
  }
  float sum = 0;
  if (row < rows)
    for (int64_t e = lane_number(); e < size; e += 32)
      sum += load_one(y + of_y * size + e) * load_one(dy + row * size + e);
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
  const int64_t shared = s.heads / s.key_heads, end = end_query(s, place.first + place.count);
  for (int64_t head = place.head * shared; head < (place.head + 1) * shared; ++head) {
    for (int64_t i = first_query<kAttentionTile>(s, place.first); i < end; i += kAttentionTile) {
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
  const int64_t first = first_key<kAttentionTile>(s, at.first), end = end_key(s, at.first + at.count);
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

// The gradient of the mask has the scores' shape: only the kernels in f32 write it.
std::vector<Algorithm> own_algorithms(const AttentionShape& s, std::span<const OperandDesc> operands) {
  const bool wants_scores = operands[10].access != Access::absent;
  const int64_t along_bytes = s.rows() * static_cast<int64_t>(sizeof(float));
  return attention_algorithms(s, operands[0].tensor.type, true, wants_scores, along_bytes);
}

}  // namespace
}  // namespace plimsoll::cuda

namespace plimsoll {

std::vector<Algorithm> AttentionBackward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return cuda::with_cudnn_attention(cuda::own_algorithms(cuda::attention_shape(attrs, operands), operands), attrs,
                                    operands, true);
}

std::unique_ptr<Kernel> AttentionBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                std::string_view algorithm) {
  if (cuda::is_of_cudnn(algorithm)) return cuda::cudnn_attention(attrs, operands, true, algorithm);
  const AttentionShape s = cuda::attention_shape(attrs, operands);
  const bool tiles = cuda::in_tiles(cuda::own_algorithms(s, operands), algorithm);
  cuda::by_head_size(s, [](auto) {});
  return cuda::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return cuda::kernel([s, attrs, tiles](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
      const cuda::AttentionDropout dropout(attrs, s, context);
      float* const along = reinterpret_cast<float*>(workspace);
      const T* const dy = cuda::in<T>(operand, 6);
      cuda::by_flag(s.turned, [&](auto turned) {
        cuda::launch("products of attention's results and gradients", cuda::along_kernel<decltype(turned)::value, T>,
                     cuda::divided_up(s.rows(), cuda::kAttentionWarps), cuda::kAttentionThreads, context, s,
                     cuda::in<T>(operand, 4), dy, along);
      });
      const cuda::AttentionGiven<T> given{
          cuda::in<T>(operand, 0), cuda::in<T>(operand, 1), cuda::in<T>(operand, 2), cuda::in(operand, 5), dy, along,
          cuda::mask_of(operand)};
      T *const dq = cuda::out<T>(operand, 7), *const dk = cuda::out<T>(operand, 8),
               *const dv = cuda::out<T>(operand, 9);
      if (tiles) {
        if (dk || dv) cuda::launch_attention_keys_tiles(context, s, given, dropout, dk, dv);
        if (dq) cuda::launch_attention_queries_tiles(context, s, given, dropout, dq);
        return;
      }
      cuda::by_head_size(s, [&](auto columns) {
        cuda::by_dropout(dropout, [&](auto drop) {
          constexpr int kColumns = decltype(columns)::value;
          using Drop = decltype(drop);
          if (dk || dv)
            cuda::launch("attention's gradient of keys and values", cuda::attention_keys_kernel<kColumns, T, Drop>,
                         s.samples * s.key_heads * cuda::divided_up(s.keys, cuda::kAttentionTile),
                         cuda::kAttentionThreads, context, s, given, drop, dk, dv);
          if (dq || operand[10])
            cuda::launch("attention's gradient of queries", cuda::attention_queries_kernel<kColumns, T, Drop>,
                         s.samples * s.heads * cuda::divided_up(s.queries, cuda::kAttentionTile),
                         cuda::kAttentionThreads, context, s, given, drop, dq, cuda::out(operand, 10));
        });
      });
    });
  });
}

}  // namespace plimsoll
