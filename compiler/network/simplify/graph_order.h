// Which nodes matter, and in which order.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/support/status.h"

namespace plimsoll {

struct GraphOrder {
  std::vector<int> nodes = {};  // indices into model.nodes: makers before readers, otherwise as they stand in the file
  bool sorted = false;          // the file had another order
  std::vector<std::string> unused = {};  // nodes left out because no output of the model depends on them
};

// Errors: invalid_model for a name defined twice, read but defined nowhere, or defined in a circle (which is printed).
Result<GraphOrder> order_graph(const Model& model);

// What a user should know of it: that nodes were sorted, or left out.
void notes_of_order(const GraphOrder& order, std::vector<std::string>& notes);

}  // namespace plimsoll
