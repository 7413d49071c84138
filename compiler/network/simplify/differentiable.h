// Which values of a graph a gradient can reach.
#pragma once

#include <string>
#include <unordered_set>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_order.h"

namespace plimsoll {

// Names from which an output is reached through operators that have a slope: through no comparison, no shape, no cast to
// integers, and not as what is compared or counted by (the condition of a Where, the indices of a Gather).
// Left out are initializers that are no trained parameter: by what plimsoll.export says (author.h), else by what torch's dynamo exporter notes
// of each. Of other files nothing tells.
// An Identity behind which no gradient flows back: detach(), as plimsoll.export and torch's dynamo exporter write it. Of
// TorchScript's exporter nothing of a detach() is left.
bool is_detached(const ModelNode& node, const Model& model);

std::unordered_set<std::string> reached_by_gradients(const Model& model, const GraphOrder& order);

}  // namespace plimsoll
