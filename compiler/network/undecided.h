// What the model's file does not say of training is asked, never guessed.
//
// Why here: after the import, which knows what the file says and what a weight is for its readers, and before the task
// graph, which is made for what is trained.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"
#include "compiler/network/freeze.h"

namespace plimsoll {

enum class Assume {
  nothing,    // what is undecided is asked
  trainable,  // --assume trainable
  frozen,     // --assume frozen
};

// The values with `undecided` that some node reads: in the network's order.
std::vector<ValueId> undecided_weights(const Network& network);

// Before: the loss is attached and dead nodes are gone; `freeze_weights` has applied the patterns, which decide what
// they match. After: no value of the network is undecided. `notes` gets a line where `assume` decides.
// Error: invalid_model, where tensors are left and `assume` is nothing. It lists all of them, with the flags to copy.
Status decide_weights(Network& network, Assume assume, std::vector<std::string>& notes);

}  // namespace plimsoll
