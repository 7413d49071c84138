// What `plimsoll inspect` says of a model: operators, parameters, inputs and outputs, and what the import noticed.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"

namespace plimsoll {

// At most kReportWidth characters a line, notes apart.
std::string report_network(const Network& network, const std::vector<std::string>& notes, bool color);

}  // namespace plimsoll
