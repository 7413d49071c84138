#pragma once

#include <string>
#include <vector>

#include "compiler/import/loaded_model.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Replaces every call of a local function by the function's nodes, until none is left, and drops the functions.
//
//   call: y = gelu(x) named "act"     ⇒     /act/Erf: "act/t" = Erf(x)     /act/Mul: y = Mul(x, "act/t")
//
// Names inside get the call's name in front; attributes that refer to the call's are filled in; nodes keep the call's
// metadata (its module path) where they have none. Errors: invalid_model for functions that call each other in a
// circle and for calls that do not fit; unsupported beyond kNodeLimit nodes, and for functions of another
// opset than the model's: all of them are named.
Status inline_functions(ModelFile& file, std::vector<std::string>& notes);

}  // namespace plimsoll
