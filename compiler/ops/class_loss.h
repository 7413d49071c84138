// Shared by SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss: {scores, labels, loss, correct, dscores}, with
// scores [N, C, d…] and labels [N, d…].
#pragma once

#include "compiler/ops/op.h"

namespace plimsoll {

Result<std::vector<TensorType>> infer_class_loss(const NodeView& node);
// `kernel` computes one loss. With the suffix "Each" it computes a loss per label.
void forward_class_loss(TaskBuilder& build, std::string kernel);
// For a loss that another node reads. Otherwise never called, because the loss itself receives no gradient.
void backward_class_loss(TaskBuilder& build);
bool class_loss_wants_all_samples(const NodeView& node);
std::vector<Sample> class_loss_samples();

}  // namespace plimsoll
