// Inputs whose number the user gives while compiling: --input sr=16000.
//
// Why: a sampling rate or a flag selects the branch of an If, or a shape. A trainer reads its inputs in each iteration,
// but the compiler has to know this one. The file gets the number as the default of the input.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/options.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Makes each given input an initializer. `notes` gets a line for each. Errors: usage, if the model has no such input,
// or it is not a single integer or boolean.
Status give_inputs(Model& model, const SimplifyOptions& options, std::vector<std::string>& notes);

}  // namespace plimsoll
