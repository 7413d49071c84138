// Operands of which one is stretched to the other (dims.h says how), and the gradients of such.
#pragma once

#include <span>

#include "compiler/ops/node_view.h"
#include "compiler/ops/task_builder.h"

namespace plimsoll {

// The dimensions of the result. Error: invalid model, naming both operands.
Result<Dims> broadcast(const NodeView& node, const Dims& a, const Dims& b);

// Dimensions with leading ones up to `rank`.
Dims with_rank(const Dims& dims, size_t rank);

// The same tensor under other dimensions; elements and order stay.
Operand viewed(Operand operand, Dims dims);

// Delivers the gradient of input `i` from `full`, a tensor of this backward that has the dimensions of the (larger)
// result: as it stands where nothing was stretched, else summed over the stretched dimensions; `scale` times.
void give_summed_gradient(TaskBuilder& build, size_t input, const Operand& full, double scale = 1);

}  // namespace plimsoll
