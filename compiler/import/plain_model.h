// An ONNX file as plain data (compiler/ir/model.h), and back: one to one, nothing is simplified here.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>

#include "compiler/import/loaded_model.h"
#include "compiler/ir/model.h"
#include "compiler/support/status.h"

namespace plimsoll {

ModelNode plain_node(const onnx::NodeProto& node);

// Before: load_data(). The model shares its elements with the file, which it keeps alive. Nobody else may change the file
// meanwhile.
Model plain_model(const std::shared_ptr<ModelFile>& file);

// Brings inline what has stayed outside and is none of `trained`, but a constant: in the file and in the model.
Status hold_constants(const std::shared_ptr<ModelFile>& file, Model& model,
                      const std::unordered_set<std::string>& trained);

// Does to the file what was done to its model since: adds initializers that are new, removes nodes that are gone.
void write_back(Model model, ModelFile& file);

}  // namespace plimsoll
