// Attributes have the type that ONNX gives them. One of another type would be read as if it were not there. Those that the compiler
// itself gives nodes are refused: a file that has them means something else, if anything.
#pragma once

#include "compiler/support/status.h"
#include "onnx/onnx.pb.h"

namespace plimsoll {

// Of all nodes of the domain ai.onnx. Error: invalid_model, with the node, the attribute and, of another type, both types.
Status check_attributes(const onnx::GraphProto& graph);

}  // namespace plimsoll
