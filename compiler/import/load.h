#pragma once

#include <memory>
#include <string>

#include "compiler/import/loaded_model.h"
#include "compiler/ir/model.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Reads and parses the file; the versions are ones we know. Data is not looked at yet.
// Errors: unreadable_input, invalid_model (what the file seems to be instead), unsupported (version).
Result<std::shared_ptr<ModelFile>> load_model(const std::string& path);

// Brings the data of every initializer and tensor attribute inline and checks its size (normalise_data).
//
// Where weights are not held, the large ones that lie beside the model are read in passing: file.looked_at says what is asked of them. They
// are no masks, and of at least two dimensions.
Status load_data(ModelFile& file, bool holds_weights = true);

// Of the domain ai.onnx; 0 when the model imports none.
int64_t opset_of(const onnx::ModelProto& model);

std::string describe_initializer(const onnx::TensorProto& tensor);  // "initializer 'conv1.weight'"

}  // namespace plimsoll
