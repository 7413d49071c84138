#pragma once

#include <string>

#include "compiler/ir/model.h"

namespace plimsoll {

// "layer1.0.conv1", the PyTorch module that a node came from, or "" if the model does not record it.
std::string module_path_of(const ModelNode& node);

// "node 'conv' (Conv, layer1.0.conv1)".
std::string describe_in_module(const ModelNode& node);

// Whether PyTorch's dynamo exporter wrote the node: it records the origin of each.
bool is_by_dynamo(const ModelNode& node);
bool came_from_dynamo(const Model& model);  // whether it wrote a node of the model

inline constexpr const char* kDynamoExportLine =
    "torch.onnx.export(model.train(), (x,), path, dynamo=True, optimize=False)";

}  // namespace plimsoll
