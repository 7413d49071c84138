// What operators share that pick elements along an axis by numbers, GatherElements and ScatterElements.
#pragma once

#include "compiler/ops/op.h"
#include "runtime/attrs/elements.h"

namespace plimsoll {

// The axis, counted from the front. Before: check_elements.
size_t elements_axis(const NodeView& node);

// Indices of whole numbers, of as many dimensions as input 0, and along none but the axis of more than it has.
Status check_elements(const NodeView& node, const TensorType& indices);

}  // namespace plimsoll
