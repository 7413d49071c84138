// A loss that the model computes with a loss operator. A scalar of any other origin: output_loss.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/network.h"

namespace plimsoll {

// The node of the loss, if the output is one.
std::optional<NodeId> own_loss(const Network& network, ValueId output);

// Ends the network in that node. A LogSoftmax before it is fused; labels known to the trainer become the last input.
// `notes` gets a line for each removed node.
void keep_own_loss(Network& network, NodeId id, std::vector<std::string>& notes);

// For a note: the loss includes what the node did.
std::string said_removed(const Network& network, const Node& node);

}  // namespace plimsoll
