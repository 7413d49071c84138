// RandomUniform and RandomNormal.   RandomNumbers {y}
// Like Dropout's mask, the numbers are a function of seed, iteration, round, the node's key and the element's place: run again they are
// the same. Evaluation draws too, as torch.rand in a module's forward() does. Of the shape -1 is the number of samples; compiler/import
// writes it so for the operators ending in Like.
#pragma once

#include "compiler/ops/op.h"

namespace plimsoll {

Result<std::vector<TensorType>> infer_random(const NodeView& node);
void forward_random(TaskBuilder& build, bool normal, double first, double second);
std::vector<Sample> random_samples(std::map<std::string, NodeAttribute> attributes);

}  // namespace plimsoll
