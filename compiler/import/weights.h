// Which tensors of a model are weights, and whose. Edits of the model before it becomes a network.
#pragma once

#include <string>
#include <vector>

#include "compiler/import/graph_order.h"
#include "compiler/import/loaded_model.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Weights that are written as nodes (Constant, ConstantOfShape) become initializers. PyTorch's exporter writes every
// parameter as an initializer, so its Constant nodes stay constants. Returns whether the graph changed.
Result<bool> lift_weights(ModelFile& file, const GraphOrder& order, std::vector<std::string>& notes);

// Exporters merge initializers that are equal, which in a fresh network ties all biases of one length, and a bias to a
// running mean. Gives each layer its own copy again:
//
//   zeros ─┬─► bn1 bias                 bn1.bias ──► bn1 bias
//          ├─► bn1 running mean   ⇒     bn1.running_mean ──► bn1 running mean
//          └─► bn2 bias                 bn2.bias ──► bn2 bias
//
// Only vectors in the places of biases, scales and statistics are parted. Layers stay tied that are one module called
// twice, or whose main weight is the same (an unrolled LSTM); so do matrices. Returns whether the graph changed.
bool unshare_weights(ModelFile& file, const GraphOrder& order, std::vector<std::string>& notes);

}  // namespace plimsoll
