// Names of tensors, tasks and steps in text forms and messages. A step is named by what it does, not by its number, so
// that an inserted step changes one line and not all later ones:
//
//   conv1.forward   recompute:conv1.forward   offload:conv1.Y   prefetch:conv1.Y   load:x   load:x~2 (the second time)
//   reduce:conv1.dW (named after the first tensor of its bucket)
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/plan.h"

namespace plimsoll {

// Unchanged, or quoted with escapes if it could be misread.
std::string spelled(std::string_view name);

// "%conv1.Y"
std::string spelled_tensor(std::string_view name);

// Unique if the plan's tasks and tensors have unique names. Ids out of range are spelled "?".
IdVector<StepId, std::string> step_names(const Plan& plan);

}  // namespace plimsoll
