// Constants with as many samples as the batch.
#pragma once

#include "compiler/ops/evaluate.h"

namespace plimsoll::folding {

// The rule `fold`, on inputs that are the same for each sample. nullopt: they are not, or what is made is not.
Known alike(const KnownCall& call, Known (*fold)(const KnownCall&));

}  // namespace plimsoll::folding
