// Which tensors of a model are weights, and whose. Edits of the model before it becomes a network.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_order.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Weights that are written as nodes (Constant, ConstantOfShape) become initializers. PyTorch's exporter writes every
// parameter as an initializer, so its Constant nodes stay constants. Returns whether the graph changed.
Result<bool> lift_weights(Model& model, const GraphOrder& order, std::vector<std::string>& notes);

// TorchScript's exporter, exporting for evaluation, merges parameters that are equal: all biases of one length of a fresh network
// are one initializer. Of the others it leaves the names, as Identity nodes. They become initializers again:
//
//   a.bias ─┬────────────────► a           a.bias ──► a
//           └─ Identity b.bias ► b    ⇒    b.bias ──► b
//
// An initializer that several nodes read by its own name is one parameter of the model, whatever its shape: a layer that is
// called twice, or tied weights. It stays one. Returns whether the graph changed.
bool unshare_weights(Model& model, const GraphOrder& order, std::vector<std::string>& notes);

}  // namespace plimsoll
