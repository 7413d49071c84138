// Writes a model and its initial weights as ONNX. Weights are generated while they are written: only one piece of them
// is in memory at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/support/status.h"
#include "models/graph_writer.h"
#include "onnx/onnx.pb.h"

namespace plimsoll {

struct InitOptions {
  uint64_t seed = 0;
  bool zeros = false;  // the data is a sparse file next to the model
};

// Writes `path` and, above 2 GiB or with zeros, a second file in the same directory (compiler/support/new_pair.h).
// Returns the name of that file, or an empty string. Error: unwritable_output; existing files are then unchanged.
Result<std::string> write_model_file(const onnx::ModelProto& model, const std::vector<InitialWeight>& weights,
                                     const InitOptions& options, const std::string& path);

}  // namespace plimsoll
