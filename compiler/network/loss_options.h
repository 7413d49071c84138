// The options of the losses that Plimsoll adds: weights, smoothing, ignored labels. They have the meaning of the
// arguments of PyTorch's CrossEntropyLoss and BCEWithLogitsLoss.
#pragma once

#include <optional>
#include <string>

#include "compiler/network/loss.h"

namespace plimsoll {

// Refuses what has no meaning for the requested loss. `own`: the model's own loss, in words; nothing is added to it.
// Errors: usage.
Status check_loss_options(const LossRequest& request, const std::optional<std::string>& own);

// What the class axis of the logits of a binary cross entropy is, if weights of several classes need one: --class-axis,
// or the only axis besides the batch. nullopt: no weights, or one weight for all.
// Errors: usage, if the axis is ambiguous.
Result<std::optional<size_t>> axis_of_weights(const Network& network, ValueId logits, const LossRequest& request);

// Writes the options to the loss. `classes`: their number, of a softmax cross entropy or along axis_of_weights.
// Before: check_loss_options. Errors: usage, if an option does not suit the number of classes.
Status weigh(Network& network, Node& loss, const LossRequest& request, int64_t classes);

}  // namespace plimsoll
