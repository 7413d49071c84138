// Requirements on a node of any operator: the number of its inputs and outputs, and their types.
#pragma once

#include <cstdint>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_order.h"
#include "compiler/ops/op.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Called before the node is added to the network. Errors: invalid_model.
Status check_outputs(const ModelNode& source);
Status check_inputs(const ModelNode& source, const Op& op);

// Every node that an output depends on, before other code reads inputs by their position. Errors: invalid_model.
Status check_inputs(const Model& model, const GraphOrder& order);

// Errors: unsupported, if an input is integer or boolean and the operator has kernels for reals only.
Status check_inputs_are_real(const NodeView& view, const Op& op);

// The type of an output. Later code adds and multiplies sizes in bytes; this check ensures that they do not overflow.
// Errors: invalid_model, unsupported.
Status check_type(const NodeView& view, const TensorType& type, int64_t batch);

}  // namespace plimsoll
