#pragma once

#include <string>

#include "onnx/onnx.pb.h"

namespace plimsoll {

// "layer1.0.conv1", the PyTorch module that a node came from, or "" where the model does not tell.
std::string module_path_of(const onnx::NodeProto& node);

}  // namespace plimsoll
