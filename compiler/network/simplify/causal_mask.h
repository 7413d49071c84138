// Recognizes the constant masks of causal attention.
//
// Why: exporters write such a mask as a tensor of T · S elements. Attention that is known to be causal needs no mask,
// and skips the hidden half of the scores (network/attention.h).
#pragma once

#include "compiler/ir/model.h"
#include "compiler/ir/network.h"

namespace plimsoll {

// Of a tensor [T, S] with at least two queries and keys, with or without leading dimensions of 1. CausalMask::none also
// if its elements are not in memory.
CausalMask causal_mask_of(const ModelTensor& tensor);

}  // namespace plimsoll
