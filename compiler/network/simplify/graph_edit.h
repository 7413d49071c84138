// Edits of a model that keep it valid.
#pragma once

#include <string>
#include <unordered_set>

#include "compiler/ir/model.h"

namespace plimsoll {

// Removes the nodes whose single output is one of `outputs`, because those values are now produced otherwise.
void remove_makers(Model& model, const std::unordered_set<std::string>& outputs);

}  // namespace plimsoll
