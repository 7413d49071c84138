#pragma once

#include <string>

#include "compiler/ir/model.h"

namespace plimsoll {

// "layer1.0.conv1", the PyTorch module that a node came from, or "" where the model does not tell.
std::string module_path_of(const ModelNode& node);

// Whether PyTorch's dynamo exporter wrote the node: it notes on each where it comes from.
bool is_by_dynamo(const ModelNode& node);

}  // namespace plimsoll
