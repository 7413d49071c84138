// If the model's file does not say whether a weight is trained, the user is asked; nothing is guessed.
//
// Why here: after the import, which knows what the file says and how a weight is used, and before the task graph, which
// is built for the trained weights.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"
#include "compiler/network/freeze.h"

namespace plimsoll {

enum class Assume {
  nothing,    // undecided weights are an error
  trainable,  // --assume trainable
  frozen,     // --assume frozen
};

// The values with `undecided` that some node reads, in the network's order.
std::vector<ValueId> undecided_weights(const Network& network);

// Before: the loss is attached and dead nodes are removed; `freeze_weights` has applied the patterns, which decide the
// weights they match. After: no value of the network is undecided. `notes` gets a line if `assume` decides. Error:
// invalid_model, if weights are still undecided and `assume` is nothing. It lists them with the flags to
// copy; those of one element with that number.
Status decide_weights(Network& network, Assume assume, std::vector<std::string>& notes);

}  // namespace plimsoll
