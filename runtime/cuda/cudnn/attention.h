// Attention as a cuDNN operation graph, in the form that cuDNN's fused kernels recognize.
//
//   forward    scores = scale · q kᵀ, -∞ where a key is hidden;  sum = Σ exp(scores - largest)
//              y = exp(scores - largest) / sum · v
//   backward   p = exp(scores - lse), lse = largest + log sum;  dv = pᵀ dy
//              ds = scale · p (dy vᵀ - Σ y · dy);  dk = dsᵀ q;  dq = ds k
//
// The scores are not stored, and the backward writes every element of a gradient once, so its results are the same in
// every run. cuDNN's workspace for that may have as many elements as the scores.
#pragma once

#include "runtime/attention.h"
#include "runtime/cuda/cudnn/graph.h"

namespace plimsoll::cudnn {

// The identifiers of the graph's tensors when it is run. largest, sum, lse and along (Σ y · dy) are f32 [N, H, T].
enum class AttentionUid : int64_t { q = 1, k, v, y, largest, sum, lse, dy, dq, dk, dv, along };

// Whether the graphs express attention without a mask: causal or every key seen, no dropout, in bf16 or f16.
bool expresses(const AttentionShape& shape, const AttentionAttrs& attrs, DataType type);

// Throw KernelError if cuDNN rejects the shapes.
Graph attention_forward(const AttentionShape& shape, DataType type);
Graph attention_backward(const AttentionShape& shape, DataType type);

}  // namespace plimsoll::cudnn
