// What a trainer knows about the labels of a loss before the first round. A mean over the labels that count is divided
// by their number (or by the sum of their class weights) in the whole batch, regardless of rounds and ranks.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ops/node_view.h"
#include "runtime/attrs/label_scales.h"

namespace plimsoll {

// Labels that are fed: of each sample of an input the elements [first, end), each once, in any order and with any
// dimensions.
struct FedLabels {
  ValueId input = {};
  int64_t index = 0;  // among the network's inputs
  int64_t first = 0, end = 0;
  friend bool operator==(const FedLabels&, const FedLabels&) = default;
};

// For a class loss with a mean. nullopt if the trainer cannot know the count: the labels are computed, their weights
// are computed, or another loss of the same labels ignores different ones. Such a loss needs all labels at once.
std::optional<FedLabels> fed_labels(const NodeView& loss);

// The label that the loss ignores: the node's value, or PyTorch's default.
int64_t ignored_label(const NodeView& loss);

}  // namespace plimsoll
