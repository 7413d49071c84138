// ONNX in, Network out: the only door to Protobuf, of which nothing shows here.
//
// After import_onnx() every operator of the network is known, every type is inferred (dimension N is the number of
// samples), what can be known while compiling is a constant, and every node matters to an output.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/import/model_file.h"
#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

struct ImportOptions {
  int64_t batch = 1;                        // samples in one iteration; sizes are checked against overflow with it
  std::map<std::string, int64_t> dims = {};  // symbolic dimensions other than the batch: --dim seq=128
  // Where the model is none with any number of samples, its number of samples is `batch`: products of samples with each other.
  bool may_fix_batch = false;
  bool strict = false;                      // what is a warning otherwise is an invalid model
  bool holds_weights = true;                // else the model cannot be written again: large weights are looked at where they lie
  bool require_normalization = false;       // a model without batch normalizations in training mode is invalid
};

struct ImportedModel {
  Network network;
  std::vector<std::string> notes = {};     // what the import did: nodes inlined, weights un-shared
  std::vector<std::string> warnings = {};  // what the user should look at
  std::string perhaps_merged = {};         // of torch's dynamo optimizer: weights that it may have merged; not known is asked
  bool states_modes = false;               // of each BatchNormalization and Dropout, as TorchScript's exporter does
  std::map<std::string, std::string> reasons = {};  // of each float initializer that is read: why it is trained, or why not
  std::shared_ptr<ModelFile> file = {};        // to write the model again, with trained weights
  std::string sha256 = {};                 // of the model file, in hexadecimal; external data is not part of it
  std::string producer = {};               // "pytorch 2.9.1"
  int64_t ir_version = 0;
  int64_t opset = 0;                       // of the domain ai.onnx
};

// Errors: unreadable_input (the file, or external data that it needs), invalid_model, unsupported (everything that is
// not supported, at once), usage (symbolic dimensions that nobody gave a number).
Result<ImportedModel> import_onnx(const std::string& path, const ImportOptions& options);

}  // namespace plimsoll
