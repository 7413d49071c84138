// Detects whether a model has changed since it was compiled, for the cache of trainers.
#pragma once

#include <string>

#include "compiler/support/status.h"

namespace plimsoll {

// The SHA-256 of the .onnx file, followed by name, size and modification time of each file that holds its weights.
// Errors: unreadable_input; invalid_model, if it is not an ONNX model.
Result<std::string> fingerprint_of_model(const std::string& path);

}  // namespace plimsoll
