// What the kernels of attention share (attention.cu, and attention_tiles.cu on tensor cores).
#pragma once

#include "runtime/attention.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/random.h"

namespace plimsoll::cuda {

// The score with the mask applied: -∞ for a hidden key, and outside the tensors.
__device__ inline float score_of(const AttentionShape& s, const unsigned char* mask, int64_t sample, int64_t head,
                                 int64_t i, int64_t j, float product) {
  if (i >= s.queries || j >= s.keys) return -INFINITY;
  if ((s.right >= 0 && j - i > s.right) || (s.left >= 0 && i - j > s.left)) return -INFINITY;
  const float score = product * s.scale;
  if (mask == nullptr) return score;
  const int64_t at =
      sample * s.mask_strides[0] + head * s.mask_strides[1] + i * s.mask_strides[2] + j * s.mask_strides[3];
  if (s.additive) return score + reinterpret_cast<const float*>(mask)[at];
  return mask[at] != 0 ? score : -INFINITY;
}

// The keys that the queries [first, end) see, and the queries that see the keys [first, end): from the beginning of a
// tile of kTile.
template <int kTile>
__device__ int64_t first_key(const AttentionShape& s, int64_t first) {
  return s.left < 0 || first <= s.left ? 0 : (first - s.left) / kTile * kTile;
}
__device__ inline int64_t end_key(const AttentionShape& s, int64_t end) {
  return s.right < 0 ? s.keys : min(s.keys, end + s.right);
}
template <int kTile>
__device__ int64_t first_query(const AttentionShape& s, int64_t first) {
  return s.right < 0 || first <= s.right ? 0 : (first - s.right) / kTile * kTile;
}
__device__ inline int64_t end_query(const AttentionShape& s, int64_t end) {
  return s.left < 0 ? s.queries : min(s.queries, end + s.left);
}

// What the kernels of the backward read. `along`: Σ y · dy of each query. T: float, Bf16 or F16.
template <class T>
struct AttentionGiven {
  const T *q, *k, *v;
  const float* statistics;
  const T* dy;
  const float* along;
  const unsigned char* mask;
};

// The dropout of probabilities. `row` counts the queries of all heads.
struct AttentionDropout {
  bool on;  // in this run
  DropoutMask mask;
  ChangingArgument changing;

  AttentionDropout(const AttentionAttrs& attrs, const AttentionShape& s, const RunContext& context)
      : on(context.training && attrs.dropped > 0),
        mask(attrs.dropped, attrs.dropout_key),
        changing(cuda::changing(context)) {
    mask.random.skipped = context.rank * s.scores();
  }

  __device__ uint64_t stream() const { return mask.random.start(changing.get()); }
  __device__ float factor(uint64_t stream, const AttentionShape& s, int64_t row, int64_t key) const {
    return mask.of(stream, row * s.keys + key);
  }
};

// In its place without a dropout, so that kernels without one need no registers for it.
struct NoDropout {
  __device__ uint64_t stream() const { return 0; }
  __device__ float factor(uint64_t, const AttentionShape&, int64_t, int64_t) const { return 1; }
};

// body(AttentionDropout or NoDropout)
template <class Body>
void by_dropout(const AttentionDropout& dropout, Body body) {
  if (dropout.on) return body(dropout);
  body(NoDropout{});
}

// Whether the kernels on tensor cores take these tensors: heads of a multiple of four elements, which a thread reads at
// once, and of at most 128; in the backward in TF32 of at most 64, whose factors and results must fit the registers.
inline bool attention_takes_tiles(const AttentionShape& s, DataType type, bool backward) {
  const int64_t size = s.size > s.value_size ? s.size : s.value_size;
  return s.size % 4 == 0 && s.value_size % 4 == 0 && size <= (backward && type == DataType::f32 ? 64 : 128);
}

template <class T>
void launch_attention_tiles(const RunContext& context, const AttentionShape& s, const T* q, const T* k, const T* v,
                            const unsigned char* mask, const AttentionDropout& dropout, T* y, float* statistics);
// dk and dv, or one of them; dq. Pointers may be null: the result is not wanted.
template <class T>
void launch_attention_keys_tiles(const RunContext& context, const AttentionShape& s, const AttentionGiven<T>& given,
                                 const AttentionDropout& dropout, T* dk, T* dv);
template <class T>
void launch_attention_queries_tiles(const RunContext& context, const AttentionShape& s, const AttentionGiven<T>& given,
                                    const AttentionDropout& dropout, T* dq);

}  // namespace plimsoll::cuda
