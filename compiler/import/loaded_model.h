// Private to compiler/import: what is behind ModelFile.
#pragma once

#include <string>

#include "compiler/import/model_file.h"
#include "onnx/onnx.pb.h"

namespace plimsoll {

struct ModelFile {
  onnx::ModelProto model = {};
  std::string path = {};
  std::string sha256 = {};
};

// More nodes than any network has; inlining stops here, so a chain of functions that doubles cannot fill the memory.
inline constexpr int64_t kNodeLimit = 1'000'000;

}  // namespace plimsoll
