// A loss that the model computes itself by an operator for losses. A number of any other origin: output_loss.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/network.h"

namespace plimsoll {

// The node of the loss, where the output is one.
std::optional<NodeId> own_loss(const Network& network, ValueId output);

// Ends the network in that node. A LogSoftmax in front of it is taken in; labels that the trainer knows become the last
// input. `notes` gets a line for what was removed.
void keep_own_loss(Network& network, NodeId id, std::vector<std::string>& notes);

// For a note: the loss does what the node did.
std::string said_removed(const Network& network, const Node& node);

}  // namespace plimsoll
