// Removes what is never read.
//
// Why: attaching a loss cuts off what followed the logits (a softmax, auxiliary heads), and models have outputs that
// training does not need (masks of dropout). Each would cost a task and its bytes.
//
// Before: nodes are in topological order.   After: every node has an output that is read, or that is an output of the
// network; unread outputs are invalid ids. Values stay, so their ids remain valid.
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

void prune_dead_nodes(Network& network);

}  // namespace plimsoll
