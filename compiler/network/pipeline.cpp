#include "compiler/network/pipeline.h"

#include "compiler/network/composites.h"
#include "compiler/network/evaluated_dropout.h"
#include "compiler/network/frozen_statistics.h"
#include "compiler/network/fuse.h"
#include "compiler/network/fuse_additions.h"

namespace plimsoll {

Status make_trainable(Network& network, const NetworkRequest& request, std::vector<std::string>& notes) {
  PLIMSOLL_TRY(attach_loss(network, request.loss, notes));
  return choose_what_is_trained(network, request.trained, notes);
}

Status choose_what_is_trained(Network& network, const TrainedRequest& request, std::vector<std::string>& notes) {
  leave_out_evaluated_dropouts(network, notes);
  PLIMSOLL_TRY(freeze_statistics(network, request.frozen_statistics, notes));
  return freeze_weights(network, request.weights, notes);
}

void fuse(Network& network) {
  fuse_composites(network);
  fuse_additions(network);
  fuse_activations(network);
}

}  // namespace plimsoll
