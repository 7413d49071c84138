// Broadcast operands (dims.h defines the rule), and their gradients.
#pragma once

#include <span>

#include "compiler/ops/node_view.h"
#include "compiler/ops/task_builder.h"

namespace plimsoll {

// The dimensions of the result. Error: invalid model, naming both operands.
Result<Dims> broadcast(const NodeView& node, const Dims& a, const Dims& b);

// `dims` with leading ones added up to `rank`.
Dims with_rank(const Dims& dims, size_t rank);

// The same tensor with other dimensions; elements and their order do not change.
Operand viewed(Operand operand, Dims dims);

// Delivers the gradient of input `i` from `full`, a tensor of this backward that has the dimensions of the (larger)
// result: unchanged if nothing was broadcast, else summed over the broadcast dimensions; multiplied by `scale`.
void give_summed_gradient(TaskBuilder& build, size_t input, const Operand& full, double scale = 1);

}  // namespace plimsoll
