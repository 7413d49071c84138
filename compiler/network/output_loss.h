// A network whose loss is one of its outputs: a scalar that the model computes itself from its inputs, which include
// the targets.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

// The name of the output that is the loss: the named one, or the only scalar. Errors: usage, if no output has the name;
// invalid_model, if the named output is not a scalar, if none or several are scalars, or, without a name, if another
// output depends on something that the loss does not, because that would not be trained.
Result<std::string> find_output_loss(const Network& network, const std::string& name);

// Ends the network in its only output, a scalar (compiler/ops/outputloss.cpp). The inputs keep the model's order.
void end_in_output(Network& network);

}  // namespace plimsoll
