#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/network.h"
#include "compiler/network/simplify/graph_order.h"
#include "compiler/network/simplify/options.h"
#include "compiler/network/simplify/weight_roles.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Builds a network from the model, in `order`: constants are evaluated, aliases resolved, types inferred. Constants
// that kernels read become initializers of the model. Nodes that no output depends on are kept. Errors: as simplify().
Result<Network> build_network(Model& model, const GraphOrder& order, const WeightUses& weights,
                              const SimplifyOptions& options, std::vector<std::string>& notes);

// The If nodes whose conditions are known, with these: by index into Model::nodes. Nothing is reported, because the
// model is built again without them. The model may be changed.
std::unordered_map<int, bool> known_conditions(Model& model, const GraphOrder& order, const SimplifyOptions& options);

}  // namespace plimsoll
