// Checks that each node has only attributes that ONNX defines for its operator in the model's opset, with ONNX's types
// and, for enumerations, ONNX's values. Otherwise a kernel might apply an attribute that does not exist in this opset,
// or an unknown one would be silently ignored.
#pragma once

#include <cstdint>

#include "compiler/ir/model.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Checks all nodes of the domain ai.onnx. Error: invalid_model; it names the node, the attribute, and both types or the
// allowed values.
Status check_attributes(const Model& model, int64_t opset);

}  // namespace plimsoll
