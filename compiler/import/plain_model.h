// Converts an ONNX file to plain data (compiler/ir/model.h) and back, one to one; nothing is simplified here.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>

#include "compiler/import/loaded_model.h"
#include "compiler/ir/model.h"
#include "compiler/support/status.h"

namespace plimsoll {

ModelNode plain_node(const onnx::NodeProto& node);

// Before: load_data(). The model shares its elements with the file, which it keeps alive. Nothing else may change the
// file meanwhile.
Model plain_model(const std::shared_ptr<ModelFile>& file);

// Loads external constants, that is, initializers not in `trained`, into the file and into the model.
Status hold_constants(const std::shared_ptr<ModelFile>& file, Model& model,
                      const std::unordered_set<std::string>& trained);

// Applies the changes made to the model to its file: adds new initializers, removes deleted nodes.
void write_back(Model model, ModelFile& file);

}  // namespace plimsoll
