// Shared by GatherElements and ScatterElements, which select elements along an axis by index.
#pragma once

#include "compiler/ops/op.h"
#include "runtime/attrs/elements.h"

namespace plimsoll {

// The axis, counted from the front. Before: check_elements.
size_t elements_axis(const NodeView& node);

// Indices are integers, have the rank of input 0, and exceed its size in no dimension but the axis.
Status check_elements(const NodeView& node, const TensorType& indices);

}  // namespace plimsoll
