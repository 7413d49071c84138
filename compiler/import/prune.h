#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"

namespace plimsoll {

// The network without what no output depends on: nodes that only a shape was asked of, constants that were evaluated
// away, inputs that nobody reads (with a note). What is dead is network/prune.h's to say; here the values go, too.
Network prune(Network network, std::vector<std::string>& notes);

}  // namespace plimsoll
