// A model that was exported for evaluation as a whole: whether it is trained so is the user's to say.
//
// Why here: what a normalization and a dropout do in training decides which tasks there are.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

enum class Modes {
  asked,        // the file's, where it has a node in training mode; of a file that has none it is asked
  train,        // --modes train: as after model.train()
  as_exported,  // --modes as-exported: normalizations keep their statistics, and dropouts drop nothing
};

// Before: leave_out_evaluated_dropouts and freeze_statistics have not run. After: Network::modes_are_stated where the
// modes of the file are to be obeyed. Error: invalid_model, where the file states modes (`states_modes`), all of its
// batch normalizations are in evaluation mode and none of its dropouts is in training, `modes` is asked and not
// `statistics_are_said` (--frozen-statistics).
Status decide_modes(Network& network, bool states_modes, Modes modes, bool statistics_are_said);

}  // namespace plimsoll
