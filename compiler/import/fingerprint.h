// Whether a model file is the one of before: for caches.
#pragma once

#include <string>

#include "compiler/support/status.h"

namespace plimsoll {

// The SHA-256 of an .onnx file, and of each file with its weights the name, the size and the time of its last change.
// Errors: unreadable_input; invalid_model where it is no ONNX model.
Result<std::string> fingerprint_of_model(const std::string& path);

}  // namespace plimsoll
