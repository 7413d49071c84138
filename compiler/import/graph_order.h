// Which nodes matter, and in which order.
#pragma once

#include <string>
#include <vector>

#include "compiler/support/status.h"
#include "onnx/onnx.pb.h"

namespace plimsoll {

struct GraphOrder {
  std::vector<int> nodes = {};  // indices into graph.node(): makers before readers, otherwise as they stand in the file
  bool sorted = false;          // the file had another order
  std::vector<std::string> unused = {};  // nodes left out because no output of the model depends on them
};

// Errors: invalid_model for a name defined twice, read but defined nowhere, or defined in a circle (which is printed).
Result<GraphOrder> order_graph(const onnx::GraphProto& graph);

// "node 'conv1' (Conv)", or by its first output where it has no name.
std::string describe(const onnx::NodeProto& node);

}  // namespace plimsoll
