// Which nodes need all samples of an iteration at once.
//
// A batch that goes through in rounds has the loss that it has as a whole only where the rounds' shares of it add up.
// So what the loss knows of several samples must be a sum over them (a mean is one: its divisor is that of the whole
// batch), and from there on only what keeps sums: adding them, multiplying them with what is the same for all
// samples, reshaping. Everything else needs the whole batch: a root or a logarithm of a mean, a sample compared with
// a mean, a term of the loss that no sample is part of.
//
// Every operator says for itself whether it keeps sums (Op::sums_samples, Op::adds_up).
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

// Of a network that ends in a loss. All false: the batch may be split.
IdVector<NodeId, bool> nodes_of_whole_batch(const Network& network);

}  // namespace plimsoll
