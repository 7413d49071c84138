// Puts a loss at the end of a network, as build_task_graph wants it: the last node, {logits, labels} → {loss, correct}.
//
// Why here and not in the file: most models are exported for inference and end in scores, in a softmax or in several
// heads. A model that ends in a loss of its own keeps it; a softmax or sigmoid that the loss includes is taken away.
//
// Before: types are inferred.
// After:  the last node is a loss; outputs are {loss} or {loss, correct}; labels are the last input of the network; what
//         the loss does not depend on is gone.
//
// Nothing is guessed. Where the model does not say what is trained, the error names the flag that says it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

enum class LossKind {
  softmax_cross_entropy,  // input "labels", i32 [N] (or [N, d…] for scores [N, C, d…]; [N, T] for scores [N, T, C] of tokens [N, T])
  mse,                    // input "target", of the output's shape
  binary_cross_entropy,   // of logits; input "target", of the output's shape, from 0 to 1
  none,                   // the model's own or nothing
  output,                 // an output of the model, a number, is the loss; LossRequest::output may name it
};

struct LossRequest {
  LossRequest(LossKind of_kind, std::string of_output = {}, std::optional<int64_t> axis = {})  // NOLINT: a kind is a request
      : kind(of_kind), output(std::move(of_output)), class_axis(axis) {}

  LossKind kind;
  std::string output;                 // --output: the output that the loss is of, of kind `output` that it is; empty: not said
  std::optional<int64_t> class_axis;  // --class-axis, of softmax_cross_entropy; from the end where negative
  // Likewise of softmax_cross_entropy, as PyTorch's CrossEntropyLoss has them:
  std::optional<int64_t> ignore_index = {};  // --ignore-index; what is negative counts nowhere, whatever this says
  std::vector<float> class_weights = {};     // --class-weights, one for each class; empty: 1
  std::optional<double> label_smoothing = {};  // --label-smoothing, from 0 to 1
};

// Leaves one output: the one that is named. Without a name that is the only output, or the model's own loss where the loss depends on
// all other outputs. `notes` gets a line for each output that is dropped.
// Errors: usage, if no output has the name; invalid model, if several outputs remain or the model has none.
Status choose_output(Network& network, const std::string& name, std::vector<std::string>& notes);

// The initializer of the weights of the classes, where attach_loss has added them: whoever writes the model puts them in.
inline constexpr const char* kClassWeights = "plimsoll.class_weights";

// The axis of the classes, by itself clear only in these cases, in this order:
//   1. The scores have two dimensions, or all dimensions but the first two are 1: axis 1.
//   2. The model reads integers of the shape of the scores without their last dimension (a token each): the last axis.
//   3. The scores come from a Softmax or LogSoftmax over one axis: that axis.
//   4. The scores come from a Conv or ConvTranspose, through element-wise operators, normalizations, Resize, pools, paddings and crops of
//      the pixels, and reshapes that keep the first two dimensions: its channels, axis 1.
//   5. The scores have four dimensions or more, and a float input has the same dimensions from axis 2 on (a score for each pixel): axis 1;
//      but not where that input has the same dimensions without the last axis, too.
// Everything else needs `class_axis`: float features [N,T,D] → scores [N,T,C], for example.
//
// `notes` gets a line for everything that was changed beyond adding the loss.
// Errors: invalid model, where the output is not clear or cannot be scores, as where there is one class, of which cross entropy is always
// 0; usage, where there is no loss and `none` was asked for, and where the axis of the classes is not clear.
Status attach_loss(Network& network, const LossRequest& request, std::vector<std::string>& notes);

}  // namespace plimsoll
