// Weights that training does not change: neither their gradient is computed, nor any gradient that is needed only for
// them.
//
// Why here: the task graph is built for the trained weights, so a frozen weight costs no gradient, no optimizer state,
// and no activation that only its gradient would read.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Shell patterns (`*`, `?`, `[…]`). A pattern matches a weight by its name, or by the module path or the name of a node
// that reads it. A weight is trained if it matches one of `trainable` (or `trainable` is empty) and none of `freeze`.
// If patterns of `trainable` match only weights for which the model does not say whether they are trained
// (Value::undecided), they decide only those: other weights stay trained.
struct WeightPatterns {
  std::vector<std::string> trainable = {}, freeze = {};
};

// Running statistics are still updated, as in PyTorch's training mode (but see frozen_statistics.h). `notes` gets a
// line. Error: usage, if a pattern matches no trained weight, or if nothing is left to train.
Status freeze_weights(Network& network, const WeightPatterns& patterns, std::vector<std::string>& notes);

}  // namespace plimsoll
