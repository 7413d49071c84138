// The way of a network from its model file to its task graph, in the order in which the passes run.
//
//   compact            only what matters to an output (compact.h)
//   put_samples_first  inputs as they are fed (samples_first.h); import_onnx calls these two
//   make_trainable     a loss at its end; what is trained, and which normalizations and dropouts are in evaluation mode
//   fuse               fewer nodes that do the same
//   assign_layouts     how each value lies in memory (layout.h), where times decide by choose_layouts (layout_choice.h)
//
// Each step asks for the ones before it. Layouts are not part of a function here, for they need a target and costs.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/network/freeze.h"
#include "compiler/network/loss.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Which weights and statistics training changes.
struct TrainedRequest {
  WeightPatterns weights = {};
  std::vector<std::string> frozen_statistics = {};  // patterns of batch normalizations (frozen_statistics.h)
};

// What the user said of the training of a model.
struct NetworkRequest {
  LossRequest loss = {LossKind::softmax_cross_entropy};
  TrainedRequest trained = {};
};

// Before: types are inferred.
// After:  the network ends in a loss, and every weight and statistic says whether it is trained. `notes` gets a line
//         for each change.
// Errors: of attach_loss, freeze_statistics and freeze_weights.
Status make_trainable(Network& network, const NetworkRequest& request, std::vector<std::string>& notes);

// The second half of make_trainable, also for a network that has no loss (`plimsoll inspect`).
Status choose_what_is_trained(Network& network, const TrainedRequest& request, std::vector<std::string>& notes);

// Before: types are inferred, all layouts plain.   After: the same function, in fewer nodes.
void fuse(Network& network);

}  // namespace plimsoll
