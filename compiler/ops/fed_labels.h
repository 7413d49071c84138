// What a trainer knows of the labels of a loss before the first round: a mean over labels that count has to be divided by
// how many they are (or by the sum of their classes' weights) in the whole batch, whatever the rounds and ranks.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ops/node_view.h"
#include "runtime/attrs/label_scales.h"

namespace plimsoll {

// Labels that are fed: of each sample of an input the elements [first, end), each of them once, in any order, under any dimensions.
struct FedLabels {
  ValueId input = {};
  int64_t index = 0;  // of the network's inputs
  int64_t first = 0, end = 0;
  friend bool operator==(const FedLabels&, const FedLabels&) = default;
};

// Of a loss of classes with a mean; nothing where the trainer cannot know: the labels are computed, or computed weights are theirs, or
// another loss of the same labels leaves out others. Then the loss has to see all labels at once.
std::optional<FedLabels> fed_labels(const NodeView& loss);

// The label that the loss leaves out, as the node says, or as PyTorch has it.
int64_t ignored_label(const NodeView& loss);

}  // namespace plimsoll
