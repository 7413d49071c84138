// Replaces attention that is spelled out by ScaledDotProductAttention: a table of patterns (pattern.h).
//
//   MatMul(q, kᵀ), Mul or Div by a number (before or after, or both q and k before), Where or Add with a mask,
//   Softmax over the last axis, Dropout or none, MatMul with v      nanoGPT, Hugging Face, timm, PyTorch's exporters
//
// The heads are an axis, [N, H, T, d], or are counted with the samples, [N·H, T, d]: torch.nn.MultiheadAttention.
// Keys and values whose heads are repeated for groups of queries (Unsqueeze, Expand, Reshape: Hugging Face's repeat_kv)
// are read before that.
//
// Why: as primitive nodes, scores and probabilities are tensors of N · H · T · S elements, and the probabilities are
// saved for the backward. The operator saves two numbers per query.
//
// A mask that is constant and causal becomes an attribute. A mask of numbers that a Where makes of booleans, 0 or -∞,
// is read as booleans, before they are expanded: a quarter of the bytes or less. A Where that hides scores by a finite
// number, as -3.4e38, only matches with a causal mask: a query whose keys are all hidden gives the mean of the values
// there, and zeros here.
// Attention of fewer than 49 · 49 scores per head, a window of Swin, is kept: there is little to save.
//
// Before: fuse_composites has run.   After: the same function up to rounding; intermediate nodes are removed.
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

enum class Attention {
  spelled,    // as the model says
  fused,      // by one operator, if recognized
  automatic,  // the planner chooses between both (docs/decisions/attention.md)
};

// False: none can be replaced, before or after fuse_composites.
bool may_fuse_attention(const Network& network);

// Returns whether it has replaced any.
bool fuse_attention(Network& network);

// Makes the Transpose that joins the heads, [N, H, T, D] to [N, T, H, D], a part of the attention before it.
// Why: the backward of the attention and that of the projection both read the results. Apart, one keeps them by heads
// and the other by queries.
void turn_attention_results(Network& network);

}  // namespace plimsoll
