#pragma once

#include <memory>
#include <string>

#include "compiler/import/loaded_model.h"
#include "compiler/ir/model.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Reads and parses the file, and checks that its versions are supported. Tensor data is not read yet. Errors:
// unreadable_input, invalid_model (with a guess of what the file is instead), unsupported (version).
Result<std::shared_ptr<ModelFile>> load_model(const std::string& path);

// Loads the data of every initializer and tensor attribute, and checks its size (normalise_data).
//
// If weights are not held, large external ones are scanned but not kept: file.looked_at has the properties that are
// needed. They are not masks, and have at least two dimensions.
Status load_data(ModelFile& file, bool holds_weights = true);

// The opset of the domain ai.onnx; 0 if the model imports none.
int64_t opset_of(const onnx::ModelProto& model);

std::string describe_initializer(const onnx::TensorProto& tensor);  // "initializer 'conv1.weight'"

}  // namespace plimsoll
