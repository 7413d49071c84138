// What plimsoll.export (python/plimsoll/exporting.py) stores in a model: information that PyTorch has and ONNX cannot
// express. It is one JSON object in the model's metadata, under "plimsoll.export":
//
//   {"schema": 1,
//    "trained": ["conv.weight", …],   parameters that an optimizer updates; no other initializer is trained
//    "frozen":  ["stem.weight", …],   parameters with requires_grad=False
//    "buffers": ["scale", …],
//    "unused":  ["head.weight", …],   trainable parameters that are not in the file (read by plimsoll.load only)
//    "detached": ["detach_3", …],     no gradient passes through these Identity nodes
//    "padding":  {"embed.weight": 0}, the row of an embedding table that is not trained
//    "modes": "stated"}               training_mode of each BatchNormalization is its module's;
//                                     omitted if some are unknown
#pragma once

#include <optional>

#include "compiler/ir/model.h"
#include "compiler/support/status.h"
#include "onnx/onnx.pb.h"

namespace plimsoll {

// nullopt: the model has none. Errors: invalid_model, if they cannot be read; unsupported, if their schema is newer.
Result<std::optional<AuthorNotes>> author_notes_of(const onnx::ModelProto& model);

}  // namespace plimsoll
