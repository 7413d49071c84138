// Why an initializer is trained, or why not, in words for the user.
#pragma once

#include <map>
#include <string>

#include "compiler/ir/model.h"
#include "compiler/ir/network.h"
#include "compiler/network/simplify/graph_order.h"
#include "compiler/network/simplify/weight_roles.h"

namespace plimsoll {

// For each float initializer; empty if its use in the model does not decide. Call this before the network is built,
// because that edits the model.
std::map<std::string, std::string> reasons_of(const Model& model, const GraphOrder& order, const WeightUses& weights);

// If the use of an initializer does not decide, the network does. If neither does, its value is undecided, and the user
// has to decide. `model`: with the initializers' elements, which are shown to the user.
void complete_reasons(const Model& model, Network& network, std::map<std::string, std::string>& reasons);

}  // namespace plimsoll
