// Chooses how every value of a network lies in memory, and inserts Reorder nodes where neighbours disagree.
//
// Why: on the CPU, convolutions over blocked channels (nChw16c with AVX-512, nChw8c with AVX2) run 1.3 to 2 times as
// fast as over plain ones, and batch normalization over plain channels is slower still. On a GPU, tensor cores multiply what lies
// channels last (nhwc), and turn around what does not. A layout changes a tensor's bytes, so it is decided before sizes: here, on
// the network, where each operator says what it can take.
//
// A value is blocked only if its channels are a multiple of the block: no value is ever padded.
//
// Before: types are inferred, all layouts plain.   After: every node's operands agree with its operator's LayoutRule.
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

// Everything that can takes `images` (plain: nothing is changed; papers count plain), beginning at the convolutions.
void assign_layouts(Network& network, Layout images);

// The nodes that are wanted take it, if they can. Returns those that do, by their places in the network as it was.
IdVector<NodeId, bool> assign_layouts(Network& network, Layout images, const IdVector<NodeId, bool>& wanted);

}  // namespace plimsoll
