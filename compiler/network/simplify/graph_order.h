// Which nodes are needed, and their order.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/support/status.h"

namespace plimsoll {

struct GraphOrder {
  std::vector<int> nodes = {};  // indices into model.nodes: makers before readers, otherwise in file order
  bool sorted = false;          // the file had another order
  std::vector<std::string> unused = {};  // nodes omitted because no output of the model depends on them
};

// Errors: invalid_model, for a name that is defined twice, undefined, or part of a cycle (which is printed).
Result<GraphOrder> order_graph(const Model& model);

// Tells the user that nodes were sorted or omitted.
void notes_of_order(const GraphOrder& order, std::vector<std::string>& notes);

}  // namespace plimsoll
