// Replaces sequences whose tensors are listed by these tensors, so that all other passes see tensors only.
//
//   a, b ─► SequenceConstruct ─┬─► SequenceAt 1                  b
//                              ├─► ConcatFromSequence            a, b ─► Concat; with new_axis, after Unsqueezes
//                              └─► SequenceMap f ─► …            f(a), f(b), listed again
//
// torch.hstack, vstack, dstack, column_stack and their relatives are written so. A sequence that a SplitToSequence
// makes is not listed here, because its number of parts depends on shapes (sequences.h).
//
// Before: nodes stand after those whose outputs they read. After: a node that is left reads a sequence that is not
// listed, or takes from it at an unknown position, and is reported as unsupported. So is one that stands for more than
// any real model has: in a damaged file, bodies inside bodies may double at each level.
#pragma once

#include "compiler/ir/model.h"
#include "compiler/network/simplify/inner_graphs.h"

namespace plimsoll {

inline constexpr double kMostListedBytes = 1 << 28;

// True if the model has changed. `graphs`: of the model. `left`: how many bytes it may still add to the model.
bool list_sequences(Model& model, InnerGraphs& graphs, double& left);

}  // namespace plimsoll
