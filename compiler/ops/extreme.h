// Shared by Max and Min.
//   BinaryMax, BinaryMin {a, b, y}
//   MaxShare, MinShare {x, other, dy, dx}: dx = dy where x is y, dy / 2 where both are (as torch.maximum), else 0
// dx has the dimensions of y. A further task sums it if x was broadcast.
#pragma once

#include "compiler/ops/binary.h"

namespace plimsoll {

Result<std::vector<TensorType>> infer_extreme(const NodeView& node);
void backward_extreme(TaskBuilder& build, std::string_view kernel);
std::vector<Sample> extreme_samples();

}  // namespace plimsoll
