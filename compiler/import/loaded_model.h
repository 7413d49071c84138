// The implementation of ModelFile; private to compiler/import.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "compiler/import/author.h"
#include "compiler/import/model_file.h"
#include "compiler/network/simplify/weight_look.h"
#include "onnx/onnx.pb.h"

namespace plimsoll {

struct ModelFile {
  onnx::ModelProto model = {};
  std::string path = {};
  std::string sha256 = {};
  std::optional<AuthorNotes> author = {};  // what plimsoll.export recorded in the model
  // Weights that stay in their external files: their tensors still refer to these.
  std::unordered_map<std::string, WeightLook> looked_at = {};
};

// More nodes than any real network has. Inlining stops here, so that a chain of functions that doubles cannot exhaust
// memory.
inline constexpr int64_t kNodeLimit = 1'000'000;

}  // namespace plimsoll
