// Where(IsNaN(x), 0, x) equals x except for NaN. Exporters write it after the softmax of an attention, for fully masked
// rows, which are zero here anyway.
#pragma once

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_uses.h"
#include "compiler/network/simplify/values.h"

namespace plimsoll {

// An IsNaN that only such a Where reads.
bool only_guards(const Model& model, const GraphUses& uses, const ModelNode& source);

// For such a Where: the value that replaces NaN is 0, and nothing is broadcast.
bool puts_zero(ValueTable& table, const ModelNode& where);

}  // namespace plimsoll
