// A network whose loss is one of its outputs, a number that the model computes itself from its inputs, targets among
// them.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

// The output that is the loss: the one that is named, or the only one that is a number. Its name. Errors: usage,
// where no output has the name; invalid model, where the output is no number, where no output is or several are, and,
// without a name, where another output is made of more than what the loss is made of: it would not be trained.
Result<std::string> find_output_loss(const Network& network, const std::string& name);

// Ends a network in its only output, a number (compiler/ops/outputloss.cpp). The inputs stay in the model's order.
void end_in_output(Network& network);

}  // namespace plimsoll
