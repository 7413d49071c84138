// Which values of a graph a gradient can reach.
#pragma once

#include <string>
#include <unordered_set>

#include "compiler/import/graph_order.h"
#include "onnx/onnx.pb.h"

namespace plimsoll {

// Names from which an output is reached through operators that have a slope: through no comparison, no shape, no cast to
// integers, and not as what is compared or counted by (the condition of a Where, the indices of a Gather).
// Buffers and constants that the exporter has marked as such are not among them.
std::unordered_set<std::string> reached_by_gradients(const onnx::GraphProto& graph, const GraphOrder& order);

}  // namespace plimsoll
