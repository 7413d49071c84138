// What SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss share: {scores, labels, loss, correct, dscores}, of scores [N, C, d…] and
// labels [N, d…].
#pragma once

#include "compiler/ops/op.h"

namespace plimsoll {

Result<std::vector<TensorType>> infer_class_loss(const NodeView& node);
void forward_class_loss(TaskBuilder& build, std::string kernel);
// Never called: nothing in front of the loss has a gradient. There, so that parameters behind it count as trained.
inline void backward_class_loss(TaskBuilder&) {}
std::vector<Sample> class_loss_samples();

}  // namespace plimsoll
