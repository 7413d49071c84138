// Replaces a product and the cross entropy of its result by LinearCrossEntropyLoss:
//
//   Gemm(x, w, b), or MatMul(x, w), with Add(bias) or not       the last layer of a language model
//   Reshape, Flatten, … that keep the classes as the last axis   logits.view(-1, vocabulary)
//   SoftmaxCrossEntropyLoss, the loss of the network             attached, or the model's own
//
// Why: the logits have samples · tokens · vocabulary elements, and so has their gradient. The operator computes them
// for some rows at a time, in its workspace.
//
// Logits of fewer than 65,536 elements per sample are kept, and so are logits that are no wider than x: there is little
// to save. So are logits that another node reads.
//
// Before: fuse_composites has run.   After: the same function up to rounding. The node has the name and the module path
// of the product.
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

enum class LossForm {
  plain,      // the logits are a tensor
  fused,      // by one operator with the product before it, if possible
  automatic,  // the planner chooses between both (docs/decisions/linear-cross-entropy.md)
};

// False: nothing can be replaced, before or after fuse_composites. Only the loss and its logits are looked at.
bool may_fuse_linear_cross_entropy(const Network& network);

// Returns whether it has replaced them.
bool fuse_linear_cross_entropy(Network& network);

}  // namespace plimsoll
