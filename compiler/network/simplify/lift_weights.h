#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_order.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Weights that are written as nodes (Constant, ConstantOfShape) become initializers: what a weight's input reads, and
// where that is a Constant, the biases added to such products and the tables that a Gather reads. PyTorch's exporter
// writes every parameter as an initializer, so the Constant nodes of its files stay constants. Returns whether the
// model changed.
Result<bool> lift_weights(Model& model, const GraphOrder& order, std::vector<std::string>& notes);

}  // namespace plimsoll
