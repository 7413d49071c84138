// Writes a model and its initial weights as ONNX. The weights are drawn while they are written: nothing ever holds more
// than one piece of them.
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
  bool zeros = false;  // data in a file of holes beside the model
};

// Writes `path` and, beyond 2 GiB or with zeros, a file beside it (compiler/support/new_pair.h); the name of that, or nothing.
// Error: unwritable_output; then there is what was there before.
Result<std::string> write_model_file(const onnx::ModelProto& model, const std::vector<InitialWeight>& weights,
                                     const InitOptions& options, const std::string& path);

}  // namespace plimsoll
