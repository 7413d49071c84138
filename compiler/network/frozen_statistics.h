// Batch normalizations that keep their running statistics in training, like a PyTorch module in eval(). Fine-tuning
// often freezes them this way.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Marks these normalizations as frozen (compiler/ops/batch_normalization.cpp):
//   - in a file that states all modes (plimsoll.export), those in evaluation mode;
//   - in a file where some BatchNormalization has training_mode=1, those without it: TorchScript's exporter writes the
//     mode of each module. In its files (Network::states_modes) a Dropout in training mode tells the same. A file
//     without any training_mode=1 was exported for evaluation, and torch's dynamo exporter writes the same node for
//     both modes. In both cases the mode is unknown, and all normalizations train;
//   - those whose name or module path matches one of `patterns` (shell patterns).
// Scale and bias are trained like any weight. `notes` gets a line. Error: usage, if a pattern matches nothing.
Status freeze_statistics(Network& network, const std::vector<std::string>& patterns, std::vector<std::string>& notes);

}  // namespace plimsoll
