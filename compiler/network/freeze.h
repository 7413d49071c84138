// Weights that training leaves as they are: no gradient of them is computed, and none through what only they stand behind.
//
// Why here: the task graph is made for what is trained, so a frozen weight costs no gradient, no optimizer state, and no
// activation that only its gradient would read.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Patterns as the shell's (`*`, `?`, `[…]`), each of which matches a weight by its name, or by the module path or the
// name of a node that reads it. Trained is what one of `trainable` matches (all, where there are none) and none of
// `freeze`. Patterns of `trainable` that match nothing but weights of which the model does not say whether they are
// trained (Value::undecided) only answer for these: other weights stay trained.
struct WeightPatterns {
  std::vector<std::string> trainable = {}, freeze = {};
};

// Running statistics go on moving with the samples, as in PyTorch's training mode (but see frozen_statistics.h). `notes` gets a line.
// Error: usage, for a pattern that matches no trained weight, and when nothing is left to train.
Status freeze_weights(Network& network, const WeightPatterns& patterns, std::vector<std::string>& notes);

}  // namespace plimsoll
