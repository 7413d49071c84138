#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Parameters that an optimizer of models has merged because they were equal. Error: invalid_model, where one initializer is a parameter
// and a running statistic, which no module has.
//
// torch's dynamo exporter has an optimizer that merges equal initializers of at most 1,024 elements and leaves no trace
// of it but one: the list of the module's parameters, in which there are more than in the file. `perhaps_merged` says
// which small ones several modules read, where their names may be among those that are missing. A module that is called
// twice misses none. The optimizer also leaves out biases that are zero; a warning names them.
Status find_merged_weights(const Model& model, const Network& network, std::string& perhaps_merged,
                           std::vector<std::string>& warnings);

}  // namespace plimsoll
