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
#include "compiler/network/modes.h"
#include "compiler/network/undecided.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Which weights and statistics training changes.
struct TrainedRequest {
  WeightPatterns weights = {};
  std::vector<std::string> frozen_statistics = {};  // patterns of batch normalizations (frozen_statistics.h)
  Assume assume = Assume::nothing;                  // of weights that the file does not decide
  Modes modes = Modes::asked;                       // of a model that was exported for evaluation as a whole
  bool assume_shared = false;                       // of weights that an exporter may have merged
};

// What the user said of the training of a model.
struct NetworkRequest {
  LossRequest loss = {LossKind::softmax_cross_entropy};
  TrainedRequest trained = {};
};

// Before: types are inferred.
// After:  the network ends in a loss, and every weight and statistic says whether it is trained. `notes` gets a line for each change.
// Errors: of attach_loss, decide_modes, freeze_statistics, freeze_weights and decide_weights; invalid_model where weights were perhaps merged and
// the request does not say that they are shared.
Status make_trainable(Network& network, const NetworkRequest& request, std::vector<std::string>& notes);

// The part of make_trainable that asks nothing, also for a network that has no loss (`plimsoll inspect`).
Status choose_what_is_trained(Network& network, const TrainedRequest& request, std::vector<std::string>& notes);

// Before: types are inferred, all layouts plain.   After: the same function, in fewer nodes.
void fuse(Network& network);

}  // namespace plimsoll
