// An edit of a model that keeps it valid.
#pragma once

#include <string>
#include <unordered_set>

#include "compiler/ir/model.h"

namespace plimsoll {

// Nodes with one output, one of `outputs`: what they made is made in another way now.
void remove_makers(Model& model, const std::unordered_set<std::string>& outputs);

}  // namespace plimsoll
