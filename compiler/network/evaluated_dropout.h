// Dropouts that the file has in evaluation mode, beside nodes that it has in training mode.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"

namespace plimsoll {

// In a file where some Dropout or BatchNormalization says that it is in training mode, a Dropout that does not
// (training_mode is false, or left out, which ONNX reads as false) was in evaluation mode when the model was exported:
// it becomes an Identity. Before opset 12 a Dropout cannot say its mode, and it stays.
//
// A file in which no node says training was exported for evaluation as a whole: there the mode tells nothing of what
// the author trains, and its dropouts are trained with. `notes` gets a line in both cases.
// A file that states all modes (Network::modes_are_stated) is obeyed in any case.
void leave_out_evaluated_dropouts(Network& network, std::vector<std::string>& notes);

// Whether a BatchNormalization or Dropout says that it is in training mode.
bool is_in_training_mode(const Network& network, const Node& node);

}  // namespace plimsoll
