// What SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss share: {scores, labels, loss, correct, dscores}, of scores [N, C, d…] and
// labels [N, d…].
#pragma once

#include "compiler/ops/op.h"

namespace plimsoll {

Result<std::vector<TensorType>> infer_class_loss(const NodeView& node);
// `kernel`: of one loss. With "Each" behind it, of a loss for each label.
void forward_class_loss(TaskBuilder& build, std::string kernel);
// Of a loss that another node reads. Else never called: nothing in front of the loss has a gradient.
void backward_class_loss(TaskBuilder& build);
bool class_loss_wants_all_samples(const NodeView& node);
std::vector<Sample> class_loss_samples();

}  // namespace plimsoll
