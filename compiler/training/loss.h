// Puts a loss at the end of a network, as build_task_graph wants it: the last node, {logits, labels} → {loss, correct}.
//
// Why here and not in the file: most models are exported for inference and end in scores, in a softmax or in several
// heads. A model that ends in a loss of its own keeps it; a softmax or sigmoid that the loss includes is taken away.
//
// Before: types are inferred.
// After:  the last node is a loss; outputs are {loss} or {loss, correct}; labels are the last input of the network; what
//         the loss does not depend on is gone.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

enum class LossKind {
  softmax_cross_entropy,  // input "labels", i32 [N] (or [N, d…] for scores [N, C, d…]; [N, T] for scores [N, T, C] of tokens [N, T])
  mse,                    // input "target", of the output's shape
  binary_cross_entropy,   // of logits; input "target", of the output's shape, from 0 to 1
  none,                   // the model's own or nothing
};

// `notes` gets a line for everything that was changed beyond adding the loss.
// Errors: invalid model, where the output cannot be scores; usage, where there is no loss and `none` was asked for.
Status attach_loss(Network& network, LossKind kind, std::vector<std::string>& notes);

}  // namespace plimsoll
