// Removes dropouts that the file has in evaluation mode although other nodes are in training mode.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"

namespace plimsoll {

// If some Dropout or BatchNormalization of a file declares training mode, a Dropout that does not (training_mode is
// false, or omitted, which ONNX reads as false) was in evaluation mode when the model was exported: it becomes an
// Identity. Before opset 12 a Dropout cannot declare its mode, and it stays.
//
// A file in which no node declares training was exported for evaluation as a whole, and the user decided that it is
// trained as after model.train() (modes.h): its dropouts stay active. `notes` gets a line in both cases. If a file
// states all modes (Network::modes_are_stated), they are always respected.
void leave_out_evaluated_dropouts(Network& network, std::vector<std::string>& notes);

// Whether a BatchNormalization or Dropout declares training mode.
bool is_in_training_mode(const Network& network, const Node& node);

// Whether the node is a Dropout that declares evaluation mode, and would drop something in training mode.
bool is_evaluated_dropout(const Network& network, const Node& node);

}  // namespace plimsoll
