// Sequences of tensors, as PyTorch 2's exporter writes a split, in words that kernels know.
//
//   SplitToSequence ─► SequenceAt 0, 1, …        Split ─► each part; with keepdims=0 a Squeeze behind each
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/known_value.h"
#include "compiler/support/status.h"

namespace plimsoll {

struct SpelledSequence {
  std::vector<ModelNode> nodes = {};
  std::vector<std::string> items = {};  // the names that stand for its tensors
};

// `x`: the dimensions of what is split; `lengths`: the second input, null where it is left out or not known.
// Errors: invalid_model, unsupported (lengths that are not known, the samples are split).
Result<SpelledSequence> spell_out(const ModelNode& split, const Dims& x, const KnownValue* lengths);

}  // namespace plimsoll
