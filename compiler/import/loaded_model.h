// Private to compiler/import: what is behind ModelFile.
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
  std::optional<AuthorNotes> author = {};  // what plimsoll.export says of the model
  // Weights that stay where they are, beside the model: their tensors still refer to them.
  std::unordered_map<std::string, WeightLook> looked_at = {};
};

// More nodes than any network has; inlining stops here, so a chain of functions that doubles cannot fill the memory.
inline constexpr int64_t kNodeLimit = 1'000'000;

}  // namespace plimsoll
