// A node has the attributes that ONNX gives its operator in the model's opset, of the type that ONNX gives them, and of words one that
// ONNX has. Another one would be obeyed by a kernel that knows it, or read as if it were not there.
#pragma once

#include <cstdint>

#include "compiler/ir/model.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Of all nodes of the domain ai.onnx. Error: invalid_model, with the node, the attribute, and both types or the words that ONNX has.
Status check_attributes(const Model& model, int64_t opset);

}  // namespace plimsoll
