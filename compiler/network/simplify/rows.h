// Values that consist of rows of other values: exporters assemble the weights of a recurrent network from a module's
// parameters, gate by gate and direction by direction (Op::rows).
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_uses.h"
#include "compiler/network/simplify/spellings.h"
#include "compiler/network/simplify/values.h"

namespace plimsoll {

// The rows that form a value with a leading dimension of 1. Empty: it is not such a value.
std::vector<Rows> rows_of(const Model& model, const GraphUses& uses, ValueTable& table, const std::string& name);

}  // namespace plimsoll
