// Imports ONNX as a Network: the only interface to Protobuf, which it hides.
//
// After import_onnx() every operator of the network is known, every type is inferred (dimension N is the number of
// samples), everything known at compile time is a constant, and every node matters to an output.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/import/model_file.h"
#include "compiler/ir/network.h"
#include "compiler/network/recurrence.h"
#include "compiler/support/status.h"

namespace plimsoll {

struct ImportOptions {
  int64_t batch = 1;                        // samples in one iteration; also used to check sizes for overflow
  std::map<std::string, int64_t> dims = {};  // symbolic dimensions other than the batch: --dim seq=128
  std::map<std::string, int64_t> inputs = {};  // inputs that are always this number: --input sr=16000
  // If the model is valid only for a fixed number of samples, that number is `batch`: products of samples with each
  // other.
  bool may_fix_batch = false;
  bool strict = false;                      // warnings become invalid_model errors
  // if false, the model cannot be written again: large external weights are scanned, not kept
  bool holds_weights = true;
  std::string output = {};                  // the one that is trained, if the user chose one of several
  Recurrence recurrence = Recurrence::unrolled;
  bool require_normalization = false;       // a model without batch normalizations in training mode is invalid
  bool modes_are_given = false;             // --modes or --frozen-statistics: an export for evaluation is no surprise
};

struct ImportedModel {
  Network network;
  std::vector<std::string> notes = {};     // what the import did: nodes inlined, weights un-shared
  std::vector<std::string> warnings = {};  // what the user should check
  // weights that torch's dynamo optimizer may have merged; the user is asked about unknown cases
  std::string perhaps_merged = {};
  bool states_modes = false;               // for each BatchNormalization and Dropout, as TorchScript's exporter does
  // for each float initializer that is read: why it is trained, or why not
  std::map<std::string, std::string> reasons = {};
  std::shared_ptr<ModelFile> file = {};        // to write the model again, with trained weights
  std::string sha256 = {};                 // of the model file, in hexadecimal; excludes external data
  std::string producer = {};               // "pytorch 2.9.1"
  int64_t ir_version = 0;
  int64_t opset = 0;                       // of the domain ai.onnx
};

// Errors: unreadable_input (the file, or external data that it needs), invalid_model, unsupported (everything that is
// unsupported, at once), usage (symbolic dimensions without a number).
Result<ImportedModel> import_onnx(const std::string& path, const ImportOptions& options);

}  // namespace plimsoll
