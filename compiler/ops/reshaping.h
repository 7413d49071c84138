// Operators whose output is their input with other dimensions: no task, no bytes. Reshape, Flatten, Squeeze, Unsqueeze,
// Identity, and any operator that only moves dimensions of size 1.
#pragma once

#include "compiler/ops/op.h"

namespace plimsoll {

void forward_alias(TaskBuilder& build);
void backward_alias(TaskBuilder& build);

// The product of dims[first, last). Error: more than 63 bits, or the sample dimension more than once.
Result<Dim> product_of(const NodeView& node, const Dims& dims, size_t first, size_t last);

// An axis, counted from the end if negative. Error: outside [-rank, rank).
Result<size_t> axis_of(const NodeView& node, int64_t axis, size_t rank);

// Distinct axes, sorted: from attribute "axes", or from input `i` in opsets where the axes are an input. nullopt: not
// given. Error: out of range, a duplicate, or an input that is not constant.
Result<std::optional<std::vector<size_t>>> axes_of(const NodeView& node, size_t i, size_t rank);

}  // namespace plimsoll
