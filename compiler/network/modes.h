// A model that was exported for evaluation as a whole: the user decides whether it is trained in that mode.
//
// Why here: the training behaviour of normalizations and dropouts determines which tasks exist.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

enum class Modes {
  asked,        // the file's modes if a node is in training mode; otherwise an error asks the user
  train,        // --modes train: as after model.train()
  as_exported,  // --modes as-exported: normalizations keep their statistics, and dropouts are inactive
};

// Before: leave_out_evaluated_dropouts and freeze_statistics have not run. After: Network::modes_are_stated is set if
// the modes of the file apply. Error: invalid_model, if `modes` is asked, no node is in training mode, and some are in
// evaluation mode: batch normalizations, if the file states their modes (`states_modes`) and `statistics_are_said` is
// false (no --frozen-statistics), or dropouts, which state their modes themselves.
Status decide_modes(Network& network, bool states_modes, Modes modes, bool statistics_are_said);

}  // namespace plimsoll
