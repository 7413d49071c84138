// Operators whose output is their input under other dimensions: no task, no bytes. Reshape, Flatten, Squeeze, Unsqueeze,
// Identity, and whatever moves only dimensions of 1.
#pragma once

#include "compiler/ops/op.h"

namespace plimsoll {

void forward_alias(TaskBuilder& build);
void backward_alias(TaskBuilder& build);

// The product of dims[first, last). Error: more than 63 bits, or samples twice.
Result<Dim> product_of(const NodeView& node, const Dims& dims, size_t first, size_t last);

// An axis counted from the end where negative. Error: outside [-rank, rank).
Result<size_t> axis_of(const NodeView& node, int64_t axis, size_t rank);

// Distinct axes, sorted: from attribute "axes", or from input `i` once that is how the operator has them. nullopt: not
// given. Error: out of range, twice the same, or an input that is not constant.
Result<std::optional<std::vector<size_t>>> axes_of(const NodeView& node, size_t i, size_t rank);

}  // namespace plimsoll
