// RandomUniform and RandomNormal.   RandomNumbers {y}
// As with Dropout's mask, the numbers are a function of seed, iteration, round, the node's key and the element's
// position, so recomputation gives the same numbers. Evaluation also draws numbers, as torch.rand in a module's
// forward() does. Numbers that all samples share are drawn anew in each round, as by gradient accumulation in PyTorch.
// In the shape, -1 is the number of samples; the operators ending in Like are written so.
#pragma once

#include "compiler/ops/op.h"

namespace plimsoll {

Result<std::vector<TensorType>> infer_random(const NodeView& node);
void forward_random(TaskBuilder& build, bool normal, double first, double second);
std::vector<Sample> random_samples(std::map<std::string, NodeAttribute> attributes);

}  // namespace plimsoll
