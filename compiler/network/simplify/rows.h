// Values that are rows of others: how exporters put the weights of a recurrent network together out of a module's
// parameters, gate by gate and direction by direction, with Slice, Concat and Unsqueeze.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_uses.h"
#include "compiler/network/simplify/spellings.h"
#include "compiler/network/simplify/values.h"

namespace plimsoll {

// The rows of which a value is made that has a dimension of 1 in front of them. Empty: it is none of that kind.
std::vector<Rows> rows_of(const Model& model, const GraphUses& uses, ValueTable& table, const std::string& name);

}  // namespace plimsoll
