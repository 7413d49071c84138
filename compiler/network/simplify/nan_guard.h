// Where(IsNaN(x), 0, x) is x, but for NaN: exporters write it behind the softmax of an attention, for rows that are
// masked whole, and those are rows of zeros here.
#pragma once

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_uses.h"
#include "compiler/network/simplify/values.h"

namespace plimsoll {

// An IsNaN that nobody reads but such a Where.
bool only_guards(const Model& model, const GraphUses& uses, const ModelNode& source);

// Of such a Where: it is 0 that stands in the place of NaN, and nothing is stretched.
bool puts_zero(ValueTable& table, const ModelNode& where);

}  // namespace plimsoll
