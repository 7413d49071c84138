// Turns a model as its file has it into a network: what is known at compile time becomes a constant, groups of nodes
// that exporters write for one operation are simplified, and every node matters to an output.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/network.h"
#include "compiler/network/simplify/options.h"
#include "compiler/support/status.h"

namespace plimsoll {

struct SimplifiedModel {
  Network network = {};
  std::vector<std::string> warnings = {};  // what the user should check
  // Weights that torch's dynamo optimizer may have merged. The user is asked about unknown cases.
  std::string perhaps_merged = {};
  bool states_modes = false;  // for each BatchNormalization and Dropout, as TorchScript's exporter does
  // For each float initializer that is read: why it is trained, or why not.
  std::map<std::string, std::string> reasons = {};
};

// Loads the elements of initializers that are stored outside the model, except for trained ones.
using HoldConstants = std::function<Status(Model& model, const std::unordered_set<std::string>& trained)>;

// Edits the model: weights that were written as nodes, or merged, become separate initializers, and so do constants
// that kernels read. `notes` say what was done. Errors: invalid_model; unsupported (everything that is unsupported, at
// once); usage (symbolic dimensions without a number).
Result<SimplifiedModel> simplify(Model& model, const SimplifyOptions& options, const HoldConstants& hold_constants,
                                 std::vector<std::string>& notes);

}  // namespace plimsoll
