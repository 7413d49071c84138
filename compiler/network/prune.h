// Removes what nobody reads.
//
// Why: attaching a loss cuts off what stood behind the logits (a softmax, auxiliary heads), and models carry outputs
// that training does not need (masks of dropout). Every one would cost a task and its bytes.
//
// Before: nodes are in topological order.   After: every node has an output that is read, or that is an output of the
// network; outputs that nobody reads are invalid ids. Values stay, so that their ids hold.
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

void prune_dead_nodes(Network& network);

}  // namespace plimsoll
