// Exporters write Where(IsNaN(x), 0, x) after the softmax x of an attention. It replaces the NaN of rows whose keys are
// all masked. The kernels' softmax gives zeros for such a row, so the Where is left out. After any other operator the
// Where stays, because a model may replace NaN of its own, such as 0 / 0.
#pragma once

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_uses.h"
#include "compiler/network/simplify/values.h"

namespace plimsoll {

// An IsNaN of a softmax that only such a Where reads.
bool only_guards(const Model& model, const GraphUses& uses, const ModelNode& source);

// For such a Where: the value that replaces NaN is 0, and nothing is broadcast.
bool puts_zero(ValueTable& table, const ModelNode& where);

}  // namespace plimsoll
