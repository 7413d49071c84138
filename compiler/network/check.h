// Verifies a network that was read from its text form: every operator is known, has its required inputs, and its
// outputs have the declared types. The passes rely on this. A network built by the import satisfies it.
#pragma once

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Errors: invalid_model, unsupported; they name the node.
Status check_network(const Network& network);

}  // namespace plimsoll
