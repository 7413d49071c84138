// What plimsoll.export (python/plimsoll/exporting.py) writes beside a model: what PyTorch knows and ONNX has no place
// for. It is one JSON object among the model's metadata, under "plimsoll.export":
//
//   {"schema": 1,
//    "trained": ["conv.weight", …],   parameters that an optimizer steps; no other initializer is trained
//    "frozen":  ["stem.weight", …],   parameters with requires_grad=False
//    "buffers": ["scale", …],
//    "detached": ["detach_3", …],     what these Identity nodes make is cut off from the gradient
//    "padding":  {"embed.weight": 0}, the row of a table of embeddings that is not trained
//    "modes": "stated"}               training_mode of each BatchNormalization is its module's;
//                                     left out where some are unknown
#pragma once

#include <optional>

#include "compiler/ir/model.h"
#include "compiler/support/status.h"
#include "onnx/onnx.pb.h"

namespace plimsoll {

// nullopt: the model has none. Errors: invalid_model, where they cannot be read; unsupported, where they have a newer
// schema.
Result<std::optional<AuthorNotes>> author_notes_of(const onnx::ModelProto& model);

}  // namespace plimsoll
