#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_order.h"

namespace plimsoll {

// TorchScript's exporter, when exporting for evaluation, merges equal parameters: all biases of one length in a newly
// initialized network become one initializer. The other names remain as Identity nodes. They become initializers again:
//
//   a.bias ─┬────────────────► a           a.bias ──► a
//           └─ Identity b.bias ► b    ⇒    b.bias ──► b
//
// An initializer that several nodes read by its own name is one parameter of the model, whatever its shape: a layer
// that is called twice, or tied weights. It stays one. Returns whether the model changed.
bool unshare_weights(Model& model, const GraphOrder& order, std::vector<std::string>& notes);

}  // namespace plimsoll
