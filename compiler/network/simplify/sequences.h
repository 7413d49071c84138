// Sequences of tensors, as PyTorch 2's exporter writes a split, rewritten as operators with kernels.
//
//   SplitToSequence ─► SequenceAt 0, 1, …        Split ─► each part; with keepdims=0 a Squeeze after each
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/known_value.h"
#include "compiler/support/status.h"

namespace plimsoll {

struct SpelledSequence {
  std::vector<ModelNode> nodes = {};
  std::vector<std::string> items = {};  // the names of its tensors
};

// `x`: the dimensions of the input; `lengths`: the second input, null if omitted or unknown. Errors: invalid_model,
// unsupported (unknown lengths, or the samples are split).
Result<SpelledSequence> spell_out(const ModelNode& split, const Dims& x, const KnownValue* lengths);

}  // namespace plimsoll
