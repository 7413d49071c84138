#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Parameters that a model optimizer merged because they were equal. Error: invalid_model, if one initializer is both a
// parameter and a running statistic, which no module has.
//
// The optimizer of torch's dynamo exporter merges equal initializers of at most 1,024 elements. It leaves only one
// trace: the list of the module's parameters, which is longer than that of the file. `perhaps_merged` names the small
// initializers that several modules read, if their names may be among the missing ones. A module that is called twice
// misses none. The optimizer also omits biases that are zero; a warning names them.
Status find_merged_weights(const Model& model, const Network& network, std::string& perhaps_merged,
                           std::vector<std::string>& warnings);

}  // namespace plimsoll
