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
// output depends on weights that the loss does not depend on, because they would not be trained.
Result<std::string> find_output_loss(const Network& network, const std::string& name);

// The outputs that may be a loss: each f32 scalar, once.
std::vector<ValueId> scalar_outputs(const Network& network);

// Whether training what the loss is made of (`needed`, of made_of()) trains every weight and updates every statistic
// that the other output depends on. The output itself need not contribute to the loss, as a copy of the scores does
// not.
bool covers(const Network& network, const IdVector<ValueId, bool>& needed, ValueId output);

// Ends the network in its only output, a scalar (compiler/ops/outputloss.cpp). The inputs keep the model's order.
void end_in_output(Network& network);

}  // namespace plimsoll
