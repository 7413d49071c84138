// AttentionForward {q, k, v, mask, y, statistics}                           compiler/ops/scaleddotproductattention.cpp
//
//   cudnn_eng1   an engine of cuDNN, of operands in bf16 or f16 (attention_cudnn.h)
//   default      in f32
//   tf32_tiles   products on tensor cores (attention_tiles.cu)
//   bf16_tiles   the same in bf16, of operands in bf16; f16_tiles: likewise
//
//   s = scale · q kᵀ + mask    p = exp(s - largest) · inverse_sum    y = (m · p) v
//   m: the factors of a dropout, 0 or 1 / (1 - dropped), the host's bit for bit; without one, 1
#include "runtime/cuda/ops/attention_rows.h"
#include "runtime/kernels.h"

namespace plimsoll::cuda {
namespace {

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
  const int64_t end = end_key(s, at.first + at.count);
  for (int64_t key = first_key<kAttentionTile>(s, at.first); key < end; key += kAttentionTile) {
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

}  // namespace
}  // namespace plimsoll::cuda

namespace plimsoll {

std::vector<Algorithm> AttentionForward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const AttentionShape s = cuda::attention_shape(attrs, operands);
  return cuda::with_cudnn_attention(cuda::attention_algorithms(s, operands[0].tensor.type, false, false, 0), attrs,
                                    operands, false);
}

std::unique_ptr<Kernel> AttentionForward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                               std::string_view algorithm) {
  if (cuda::is_of_cudnn(algorithm)) return cuda::cudnn_attention(attrs, operands, false, algorithm);
  const AttentionShape s = cuda::attention_shape(attrs, operands);
  const bool tiles =
      cuda::in_tiles(cuda::attention_algorithms(s, operands[0].tensor.type, false, false, 0), algorithm);
  cuda::by_head_size(s, [](auto) {});
  return cuda::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return cuda::kernel([s, attrs, tiles](const RunContext& context, std::byte* const* operand, std::byte*) {
      const cuda::AttentionDropout dropout(attrs, s, context);
      const T *const q = cuda::in<T>(operand, 0), *const k = cuda::in<T>(operand, 1),
                     *const v = cuda::in<T>(operand, 2);
      T* const y = cuda::out<T>(operand, 4);
      float* const statistics = cuda::out(operand, 5);
      if (tiles)
        return cuda::launch_attention_tiles(context, s, q, k, v, cuda::mask_of(operand), dropout, y, statistics);
      cuda::by_head_size(s, [&](auto columns) {
        cuda::by_dropout(dropout, [&](auto drop) {
          cuda::launch("attention", cuda::attention_kernel<decltype(columns)::value, T, decltype(drop)>,
                       s.samples * s.heads * cuda::divided_up(s.queries, cuda::kAttentionTile), cuda::kAttentionThreads,
                       context, s, q, k, v, cuda::mask_of(operand), drop, y, statistics);
        });
      });
    });
  });
}

}  // namespace plimsoll
