// Shared by SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss: {scores, labels, loss, correct, dscores}, with
// scores [N, C, d…] and labels [N, d…].
#pragma once

#include "compiler/ops/op.h"
#include "runtime/attrs/loss.h"

namespace plimsoll {

Result<std::vector<TensorType>> infer_class_loss(const NodeView& node);
// `kernel` computes one loss. With the suffix "Each" it computes a loss per label.
void forward_class_loss(TaskBuilder& build, std::string kernel);
// Of a loss that is reduced to a mean or a sum. Says what the trainer must know of the labels, which are input 1; class
// weights are input 2. `is_term`: another node reads the loss.
SoftmaxCrossEntropyAttrs attributes_of_class_loss(TaskBuilder& build, int64_t classes, bool is_term);
// For a loss that another node reads. Otherwise never called, because the loss itself receives no gradient.
void backward_class_loss(TaskBuilder& build);
bool class_loss_wants_all_samples(const NodeView& node);
std::vector<Sample> class_loss_samples();

}  // namespace plimsoll
