// Removes the nodes that no output depends on, with their values, and renumbers the rest.
//
// Why: a file contains nodes that were used only for shapes, constants that are evaluated at compile time, and inputs
// that are never read. Later passes then see only what matters.
//
// Before: nodes are in topological order.
// After:  every node makes something that is read (prune.h), and every value is made or read by a node, or is an
// output. Previous ids are invalid. `notes` gets a line for each removed input.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"

namespace plimsoll {

void compact(Network& network, std::vector<std::string>& notes);

}  // namespace plimsoll
