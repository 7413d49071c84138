// An order of the samples that a model takes and undoes. PyTorch writes one for packed sequences that are not sorted by
// length (enforce_sorted=False):
//
//   lengths [N] ─► TopK(N) ─┬─► lengths in order ─► sequence_lens of an LSTM
//                           └─► order ─► Gather of each input of the LSTM
//                                 └─► ScatterElements(zeros, order, 0 … N-1) ─► Gather of each result
//
// What lies in between computes each sample by itself. So the samples stay as they are: the order is 0 … N-1. This
// holds only if everything in order is put back, meets nothing of samples that are not in order, and the order itself
// is read in no other way.
#pragma once

#include <optional>

#include "compiler/network/simplify/graph_uses.h"
#include "compiler/network/simplify/values.h"

namespace plimsoll {

// What a node leaves as it is.
struct InOrder {
  size_t input = 0;                     // that output 0 equals
  std::optional<KnownValue> order = {}; // output 1
};

// nullopt: the node does not put samples in order, or nothing undoes it. Nodes:
//   TopK of one number for each sample, if it is undone
//   ScatterElements and Gather by the numbers 0 … N-1 of the samples
std::optional<InOrder> in_order(const Model& model, const GraphUses& uses, ValueTable& table, const ModelNode& node,
                                std::optional<int64_t> exported_batch);

}  // namespace plimsoll
