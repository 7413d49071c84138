#include "compiler/network/pipeline.h"

#include "compiler/network/attention.h"
#include "compiler/network/composites.h"
#include "compiler/network/evaluated_dropout.h"
#include "compiler/network/frozen_statistics.h"
#include "compiler/network/fuse.h"
#include "compiler/network/fuse_additions.h"
#include "compiler/network/joined_slices.h"
#include "compiler/network/merge_alike.h"
#include "compiler/network/merged_turns.h"
#include "compiler/network/standardized_weights.h"
#include "compiler/network/unexpanded.h"

namespace plimsoll {

Status make_trainable(Network& network, const NetworkRequest& request, std::vector<std::string>& notes,
                      StatedLoss* stated) {
  PLIMSOLL_TRY(attach_loss(network, request.loss, notes, stated));
  const TrainedRequest& trained = request.trained;
  if (!network.perhaps_merged.empty() && !trained.assume_shared)
    return Error{
        ExitCode::invalid_model,
        network.perhaps_merged,
        {"if the model shares them, use --assume-shared",
         "otherwise compile the file that the exporter wrote, before any tool changed it; export it with "
         "optimize=False or plimsoll.export (docs/python.md)"}};
  PLIMSOLL_TRY(decide_modes(network, network.states_modes, trained.modes, !trained.frozen_statistics.empty()));
  PLIMSOLL_TRY(choose_what_is_trained(network, trained, notes));
  PLIMSOLL_TRY(decide_weights(network, trained.assume, notes));
  network.stage = NetworkStage::trainable;
  return {};
}

Status choose_what_is_trained(Network& network, const TrainedRequest& request, std::vector<std::string>& notes) {
  leave_out_evaluated_dropouts(network, notes);
  PLIMSOLL_TRY(freeze_statistics(network, request.frozen_statistics, notes));
  return freeze_weights(network, request.weights, notes);
}

void fuse(Network& network, Attention attention, LossForm loss) {
  leave_out_expands(network);
  fuse_standardized_weights(network);
  const bool fused = attention == Attention::fused;
  const std::vector<ValueId> heads = fused ? separate_turns(network) : std::vector<ValueId>{};
  fuse_composites(network);
  if (fused && fuse_attention(network)) network.forms[std::string(kAttention)] = "fused";
  merge_turns(network, heads);
  turn_attention_results(network);
  merge_alike(network);
  join_slices(network);
  if (loss == LossForm::fused && fuse_linear_cross_entropy(network)) network.forms[std::string(kLossForm)] = "fused";
  fuse_additions(network);
  fuse_activations(network);
  network.stage = NetworkStage::fused;
}

bool may_have_fused_forms(const Network& network) {
  return may_fuse_attention(network) || may_fuse_linear_cross_entropy(network);
}

}  // namespace plimsoll
