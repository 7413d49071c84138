// Why an initializer is trained, or why not, in words for its user.
#pragma once

#include <map>
#include <string>

#include "compiler/ir/model.h"
#include "compiler/ir/network.h"
#include "compiler/network/simplify/graph_order.h"

namespace plimsoll {

// Of each float initializer that is read; empty: its place in the model does not tell. Before the network is built, which
// edits the model.
std::map<std::string, std::string> reasons_of(const Model& model, const GraphOrder& order);

// Where the place of an initializer does not tell, the network does, or nothing: that is for the user to say, and its value
// is undecided.
void complete_reasons(Network& network, std::map<std::string, std::string>& reasons);

}  // namespace plimsoll
