// A model as its file has it, to a network: what can be known while compiling is a constant, what exporters write in
// several nodes is what their user meant, and every node matters to an output.
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
  std::vector<std::string> warnings = {};  // what the user should look at
  // Of torch's dynamo optimizer: weights that it may have merged. What is not known is asked.
  std::string perhaps_merged = {};
  bool states_modes = false;  // of each BatchNormalization and Dropout, as TorchScript's exporter does
  // Of each float initializer that is read: why it is trained, or why not.
  std::map<std::string, std::string> reasons = {};
};

// Brings the elements of initializers into the model that have stayed beside it, but for those that are trained.
using HoldConstants = std::function<Status(Model& model, const std::unordered_set<std::string>& trained)>;

// Edits the model: weights that were written as nodes, or merged, are initializers of their own afterwards, and so are
// constants that kernels read. `notes` say what was done.
// Errors: invalid_model; unsupported (everything that is not supported, at once); usage (symbolic dimensions without a
// number).
Result<SimplifiedModel> simplify(Model& model, const SimplifyOptions& options, const HoldConstants& hold_constants,
                                 std::vector<std::string>& notes);

}  // namespace plimsoll
