// Batch normalizations that keep their running statistics in training, as a PyTorch module in eval() does. Fine-tuning freezes them so.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Marks as frozen (compiler/ops/batch_normalization.cpp):
//   - in a file that states all modes (plimsoll.export), those in evaluation;
//   - in a file where some BatchNormalization has training_mode=1, those that have it not: TorchScript's exporter writes each as the module
//     was. A file that has none in training was exported for evaluation, and torch's dynamo exporter writes the same node for both: there
//     nothing tells, and all of them train;
//   - those whose name or module path one of `patterns` matches, patterns as the shell's.
// Their scale and bias are trained like any weight. `notes` gets a line. Error: usage, for a pattern that matches none.
Status freeze_statistics(Network& network, const std::vector<std::string>& patterns, std::vector<std::string>& notes);

}  // namespace plimsoll
