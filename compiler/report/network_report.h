// What `plimsoll inspect` says of a model: operators, parameters, inputs and outputs, and what the import noticed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/network.h"

namespace plimsoll {

// At most kReportWidth characters a line, notes apart.
std::string report_network(const Network& network, const std::vector<std::string>& notes, bool color);

// A line for each weight and statistic: trained, frozen or statistic, its name, its type, the layer that reads it. Nothing is shortened.
// Of a network with several outputs, a weight that makes some of them only is "by output": trained if the loss is of one of these. A weight
// that makes none is "dropped".
//
// `reasons`, by initializer: why it is trained, or why not; at the end of its line. One that only the compiler reads is "constant".
std::string report_weights(const Network& network, const std::map<std::string, std::string>& reasons = {});

}  // namespace plimsoll
