#pragma once

#include <string>
#include <vector>

#include "compiler/import/graph_order.h"
#include "compiler/import/options.h"
#include "compiler/ir/model.h"
#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

// The graph of `file`, in `order`, as a network: constants evaluated, aliases resolved, types inferred. Constants that
// kernels read become initializers of `file`. What no output depends on is still there. Errors: as import_onnx().
Result<Network> build_network(Model& model, const GraphOrder& order, const SimplifyOptions& options,
                              std::vector<std::string>& notes);

}  // namespace plimsoll
