#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_order.h"

namespace plimsoll {

// TorchScript's exporter, exporting for evaluation, merges parameters that are equal: all biases of one length of a fresh network
// are one initializer. Of the others it leaves the names, as Identity nodes. They become initializers again:
//
//   a.bias ─┬────────────────► a           a.bias ──► a
//           └─ Identity b.bias ► b    ⇒    b.bias ──► b
//
// An initializer that several nodes read by its own name is one parameter of the model, whatever its shape: a layer that is
// called twice, or tied weights. It stays one. Returns whether the model changed.
bool unshare_weights(Model& model, const GraphOrder& order, std::vector<std::string>& notes);

}  // namespace plimsoll
