#pragma once

#include <string>
#include <vector>

#include "compiler/import/graph_order.h"
#include "compiler/import/loaded_model.h"
#include "compiler/import/onnx.h"
#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

// The graph of `file`, in `order`, as a network: constants evaluated, aliases resolved, types inferred. Constants that
// kernels read become initializers of `file`. What no output depends on is still there. Errors: as import_onnx().
Result<Network> build_network(ModelFile& file, const GraphOrder& order, const ImportOptions& options,
                              std::vector<std::string>& notes);

}  // namespace plimsoll
