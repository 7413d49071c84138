// Constants with as many samples as the batch.
#pragma once

#include "compiler/ops/evaluate.h"

namespace plimsoll::folding {

// Applies the rule `fold` to inputs that are the same for each sample. nullopt if an input or the result is not.
Known alike(const KnownCall& call, Known (*fold)(const KnownCall&));

}  // namespace plimsoll::folding
