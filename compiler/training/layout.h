// Chooses how every value of a network lies in memory, and inserts Reorder nodes where neighbours disagree.
//
// Why: on the CPU, convolutions over blocked channels (nChw16c with AVX-512, nChw8c with AVX2) run 1.3 to 2 times as
// fast as over plain ones, and batch normalization over plain channels is slower still. A layout changes a tensor's
// bytes, so it is decided before sizes: here, on the network, where each operator says what it can take.
//
// A value is blocked only if its channels are a multiple of the block: no value is ever padded.
//
// Before: types are inferred, all layouts plain.   After: every node's operands agree with its operator's LayoutRule.
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

// `block` channels: 16, 8, or 0 to leave everything plain (cuda decides per profile; papers count plain).
void assign_layouts(Network& network, int block);

}  // namespace plimsoll
