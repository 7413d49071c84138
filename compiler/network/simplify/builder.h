#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/network.h"
#include "compiler/network/simplify/graph_order.h"
#include "compiler/network/simplify/options.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Builds a network from the model, in `order`: constants are evaluated, aliases resolved, types inferred. Constants
// that kernels read become initializers of the model. Nodes that no output depends on are kept. Errors: as simplify().
Result<Network> build_network(Model& model, const GraphOrder& order, const SimplifyOptions& options,
                              std::vector<std::string>& notes);

}  // namespace plimsoll
