// How tensors, tasks and steps are called in texts and messages. Steps are named by what they do, not by their number, so
// that a step put in changes one line and not all that follow:
//
//   conv1.forward   recompute:conv1.forward   offload:conv1.Y   prefetch:conv1.Y   load:x   load:x~2 (the second time)
//   reduce:conv1.dW (the bucket that begins with it)
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/plan.h"

namespace plimsoll {

// As it stands, or in quotes with escapes where it could be taken for something else.
std::string spelled(std::string_view name);

// "%conv1.Y"
std::string spelled_tensor(std::string_view name);

// Unique for plans whose tasks and tensors have unique names. Ids that point nowhere are spelled "?".
IdVector<StepId, std::string> step_names(const Plan& plan);

}  // namespace plimsoll
