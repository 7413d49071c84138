// What must hold of a node whatever its operator: how many inputs and outputs it has, and of what type they are.
#pragma once

#include <cstdint>

#include "compiler/ir/model.h"
#include "compiler/ops/op.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Before the node is one of the network. Errors: invalid_model.
Status check_outputs(const ModelNode& source);
Status check_inputs(const ModelNode& source, const Op& op);

// Errors: unsupported, where an input is of whole numbers or booleans and the operator has kernels for reals only.
Status check_inputs_are_real(const NodeView& view, const Op& op);

// Of an output. Sizes are sums and products of bytes later on; here is where they are known to fit.
// Errors: invalid_model, unsupported.
Status check_type(const NodeView& view, const TensorType& type, int64_t batch);

}  // namespace plimsoll
