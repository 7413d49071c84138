// Removes what no output depends on, with its values, and numbers what is left anew.
//
// Why: a file has nodes that only a shape was asked of, constants that are evaluated while compiling and inputs that
// nobody reads. Who reads a network afterwards meets nothing that does not matter.
//
// Before: nodes are in topological order.
// After:  every node makes something that is read (prune.h), and every value is made or read by a node, or is an
//         output. The ids of before do not hold. `notes` gets a line for each input that is left out.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"

namespace plimsoll {

void compact(Network& network, std::vector<std::string>& notes);

}  // namespace plimsoll
