// Which values of a graph a gradient can reach.
#pragma once

#include <string>
#include <unordered_set>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_order.h"

namespace plimsoll {

// Whether the node is an Identity through which no gradient passes: detach(), as plimsoll.export and torch's dynamo
// exporter write it. TorchScript's exporter leaves no trace of a detach().
bool is_detached(const ModelNode& node, const Model& model);

// Names from which an output is reached through differentiable operators: not through comparisons, shapes or casts to
// integers, and not as the condition of a Where or the indices of a Gather. Initializers that are not trained
// parameters are excluded, according to plimsoll.export (author.h), or else to the marks of torch's dynamo exporter and
// to what PyTorch's exporters note (exporter_numbers.h); other files do not contain this information.
std::unordered_set<std::string> reached_by_gradients(const Model& model, const GraphOrder& order);

}  // namespace plimsoll
