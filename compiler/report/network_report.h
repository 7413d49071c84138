// What `plimsoll inspect` prints about a model: operators, parameters, inputs and outputs, and the notes of the import.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/network.h"

namespace plimsoll {

// At most kReportWidth characters per line, except for notes.
std::string report_network(const Network& network, const std::vector<std::string>& notes, bool color);

// A line for each weight and statistic: trained, frozen or statistic, its name, its type, and the layer that reads it.
// Nothing is shortened. In a network with several outputs, a weight that only some outputs depend on is "by output": it
// is trained if the loss is applied to one of these. A weight that no output depends on is "dropped".
//
// `reasons`, by initializer: why it is trained, or why not; printed at the end of its line. An initializer that only
// the compiler reads is "constant".
std::string report_weights(const Network& network, const std::map<std::string, std::string>& reasons = {});

}  // namespace plimsoll
