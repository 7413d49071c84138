// Edits of an ONNX graph that keep it valid.
#pragma once

#include <string>
#include <unordered_set>

#include "onnx/onnx.pb.h"

namespace plimsoll {

// Before IR version 4 every initializer is an input of the graph too; the edit follows the model's version.
void add_initializer(onnx::ModelProto& model, onnx::TensorProto tensor);

// Nodes with one output, one of `outputs`: what they made is made in another way now.
void remove_makers(onnx::GraphProto& graph, const std::unordered_set<std::string>& outputs);

}  // namespace plimsoll
