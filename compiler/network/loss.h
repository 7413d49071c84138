// Appends a loss to a network in the form build_task_graph requires: the last node, {logits, labels} → {loss, correct}.
//
// Why here and not in the file: most models are exported for inference and end in scores, in a softmax or in several
// heads. A model that ends in its own loss keeps it; a softmax or sigmoid that the loss includes is removed.
//
// Before: types are inferred.
// After:  the last node is a loss; outputs are {loss} or {loss, correct}; labels are the last input of the network;
// nodes on which the loss does not depend are removed.
//
// Nothing is guessed. If the model does not determine what is trained, the error names the flag that does.
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
  // input "labels": i32 [N], or [N, d…] for scores [N, C, d…], or [N, T] for scores [N, T, C] of tokens [N, T]
  softmax_cross_entropy,
  mse,                    // input "target", of the output's shape
  binary_cross_entropy,   // on logits; input "target", of the output's shape, from 0 to 1
  none,                   // the model's own loss, or none
  output,                 // a scalar output of the model is the loss; LossRequest::output may name it
};

struct LossRequest {
  LossRequest(LossKind of_kind, std::string of_output = {}, std::optional<int64_t> axis = {})  // NOLINT: implicit
      : kind(of_kind), output(std::move(of_output)), class_axis(axis) {}

  LossKind kind;
  // --output: the output that the loss is applied to, or that is the loss (kind `output`); empty: not given
  std::string output;
  // --class-axis, for softmax_cross_entropy, and for the weights of binary_cross_entropy; counted from the end if
  // negative
  std::optional<int64_t> class_axis;
  bool by_default = false;  // no --loss was given
  // Of softmax_cross_entropy, with the meaning of PyTorch's CrossEntropyLoss. Weights and smoothing also of
  // binary_cross_entropy, with that of BCEWithLogitsLoss (loss_options.h):
  std::optional<int64_t> ignore_index = {};  // --ignore-index
  std::vector<float> class_weights = {};     // --class-weights, one per class; empty: 1
  std::vector<float> positive_weights = {};  // --pos-weight, of binary_cross_entropy: of targets that are 1
  std::optional<double> label_smoothing = {};  // --label-smoothing, from 0 to 1
  bool mixed_labels = false;  // --mixed-labels: input "labels" is [N, 3] (runtime/attrs/mixed_label.h)
};

// Keeps one output: the named one. Without a name, the only output, or the model's own loss if it depends on everything
// that all other outputs depend on. `notes` gets a line for each dropped output.
// Errors: usage, if no output has the name; invalid_model, if several outputs remain or the model has none.
Status choose_output(Network& network, const std::string& name, std::vector<std::string>& notes);

// The initializers of the weights that attach_loss adds; the code that writes the model must store them.
inline constexpr const char* kClassWeights = "plimsoll.class_weights";
inline constexpr const char* kPositiveWeights = "plimsoll.pos_weight";

// Which loss is trained, over which output.
struct StatedLoss {
  std::string line = {};
  bool is_default = false;  // the request did not name it, and neither did the model
  std::string warning = {};  // not empty: the output is not what the loss expects
};

// The axis of the classes is unambiguous only in these cases, tried in this order:
//   1. The scores have two dimensions, or all dimensions after the first two are 1: axis 1.
//   2. The model reads integers of the shape of the scores without their last dimension (one token each): the last
//      axis.
//   3. The scores come from a Softmax or LogSoftmax over one axis, or are the two probabilities 1 - p and p along one
//      axis (two_classes.h): that axis.
//   4. The scores come from a Conv or ConvTranspose, through elementwise operators, normalizations, Resize, pools,
//      paddings and crops of the pixels, and reshapes that keep the first two dimensions: its channels, axis 1.
//   5. The scores have at least four dimensions, and a float input has the same dimensions from axis 2 on (a score per
//      pixel): axis 1, unless that input also has the same dimensions without the last axis.
// All other cases need `class_axis`: float features [N,T,D] → scores [N,T,C], for example.
//
// `notes` gets a line for each change other than the added loss; `stated` gets the loss itself.
// Errors: invalid_model, if the output is ambiguous or cannot be scores, or has one class, for which cross entropy is
// always 0; usage, if there is no loss and `none` was requested, or if the class axis is ambiguous.
Status attach_loss(Network& network, const LossRequest& request, std::vector<std::string>& notes,
                   StatedLoss* stated = nullptr);

}  // namespace plimsoll
