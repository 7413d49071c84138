// Chooses the memory layout of every value, and inserts Reorder nodes where neighbours disagree.
//
// Why: on the CPU, convolutions over blocked channels (nChw16c with AVX-512, nChw8c with AVX2) run 1.3 to 2 times as
// fast as over plain ones; batch normalization is also slower over plain channels. On a GPU, tensor cores work on
// channels-last data (nhwc); plain data is transposed first. A layout changes a tensor's bytes, so layouts are assigned
// before sizes are computed: here, on the network, where each operator declares the layouts it accepts.
//
// A value is blocked only if its channels are a multiple of the block: no value is ever padded.
//
// Before: types are inferred, all layouts plain.   After: every node's operands satisfy its operator's LayoutRule.
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

// Every node that can use `images` uses it, starting at the convolutions. With plain nothing changes (the papers count
// plain tensors).
void assign_layouts(Network& network, Layout images);

// Wanted nodes use the layout if they can. Returns the nodes that do, by their original indices.
IdVector<NodeId, bool> assign_layouts(Network& network, Layout images, const IdVector<NodeId, bool>& wanted);

}  // namespace plimsoll
