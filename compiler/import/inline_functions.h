#pragma once

#include <string>
#include <vector>

#include "compiler/import/loaded_model.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Replaces every call of a local function by the function's nodes until none is left, and removes the functions.
//
//   call: y = gelu(x) named "act"     ⇒     /act/Erf: "act/t" = Erf(x)     /act/Mul: y = Mul(x, "act/t")
//
// Inner names are prefixed with the call's name; attributes that refer to the call's attributes are substituted; nodes
// without metadata (the module path) take the call's. Errors: invalid_model, for recursive functions and for calls that
// do not match the signature; unsupported, beyond kNodeLimit nodes, and for functions with another opset than the
// model's (all of them are named).
Status inline_functions(ModelFile& file, std::vector<std::string>& notes);

}  // namespace plimsoll
