// The passes that turn an imported network into one ready for its task graph, in order.
//
//   compact            keeps only what an output depends on (compact.h)
//   put_samples_first  inputs with samples first, as they are fed (samples_first.h); import_onnx runs these two
//   make_trainable     adds the loss; decides what is trained, and which layers are in evaluation mode
//   fuse               fewer nodes for the same function
//   assign_precision   which values are stored in bf16 or f16 (precision.h)
//   assign_layouts     the memory layout of each value (layout.h), by choose_layouts if times decide (layout_choice.h)
//
// Each step requires the ones before it. Layouts are not part of a function here, because they need a target and costs.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/network/attention.h"
#include "compiler/network/freeze.h"
#include "compiler/network/linear_cross_entropy.h"
#include "compiler/network/loss.h"
#include "compiler/network/modes.h"
#include "compiler/network/precision.h"
#include "compiler/network/recurrence.h"
#include "compiler/network/undecided.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Which weights and statistics training changes.
struct TrainedRequest {
  WeightPatterns weights = {};
  std::vector<std::string> frozen_statistics = {};  // patterns of batch normalizations (frozen_statistics.h)
  Assume assume = Assume::nothing;                  // for weights that the file does not decide
  Modes modes = Modes::asked;                       // for a model that was exported for evaluation as a whole
  bool assume_shared = false;                       // for weights that an exporter may have merged
};

// The user's options for training a model.
struct NetworkRequest {
  LossRequest loss = {LossKind::softmax_cross_entropy};
  TrainedRequest trained = {};
  Attention attention = Attention::automatic;
  LossForm loss_form = LossForm::automatic;
  Recurrence recurrence = Recurrence::automatic;
  PrecisionRequest precision = {};
};

// Before: types are inferred.
// After:  the network ends in a loss, and for every weight and statistic it is decided whether it is trained. `notes`
// gets a line for each change, and `stated` which loss is trained.
// Errors: from attach_loss, decide_modes, freeze_statistics, freeze_weights and decide_weights; invalid_model, if
// weights may have been merged and the request does not say that they are shared.
Status make_trainable(Network& network, const NetworkRequest& request, std::vector<std::string>& notes,
                      StatedLoss* stated = nullptr);

// The part of make_trainable that reports no undecided case, also for a network without a loss (`plimsoll inspect`).
Status choose_what_is_trained(Network& network, const TrainedRequest& request, std::vector<std::string>& notes);

// Before: types are inferred, all layouts plain; the forms of attention and of the loss are decided.
// After:  the same function in fewer nodes. If attention or the loss was fused, the network says so.
void fuse(Network& network, Attention attention = Attention::spelled, LossForm loss = LossForm::plain);

// False only if fuse() finds no attention and no loss to fuse, which is known without changing the network.
bool may_have_fused_forms(const Network& network);

}  // namespace plimsoll
