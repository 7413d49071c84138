// Finds the nodes that need all samples of an iteration at once.
//
// A batch can be split into rounds only if the rounds' shares add up to the loss of the whole batch. So where the loss
// combines samples, it must be a sum over them (or a mean: its divisor is the size of the whole batch). From there on,
// only operations that preserve sums are allowed: addition, multiplication by values that are the same for all samples,
// reshaping. Everything else needs the whole batch: a root or logarithm of a mean, a comparison of a sample with a
// mean, a term of the loss without samples.
//
// Each operator declares whether it preserves sums (Op::sums_samples, Op::adds_up).
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

// For a network that ends in a loss. All false: the batch may be split.
IdVector<NodeId, bool> nodes_of_whole_batch(const Network& network);

}  // namespace plimsoll
