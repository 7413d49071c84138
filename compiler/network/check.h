// A network that comes from a text is what the passes take it for: every operator is known, has the inputs that it cannot do
// without, and makes what its outputs say. One that the import made is.
#pragma once

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Errors: invalid_model, unsupported, with the node.
Status check_network(const Network& network);

}  // namespace plimsoll
