// The probabilities of two classes that a model computes from one score: 1 - p and p, with p = Sigmoid(score).
//
// Why: scikit-learn's binary classifiers end so, and modules of PyTorch that return both probabilities. The cross
// entropy of these probabilities is the softmax cross entropy of the scores 0 and `score`. A softmax of the
// probabilities themselves would train another function.
#pragma once

#include <cstddef>
#include <optional>

#include "compiler/ir/network.h"
#include "compiler/network/value_uses.h"

namespace plimsoll {

struct TwoClasses {
  ValueId score = {};        // of the class whose probability is the Sigmoid
  bool score_first = false;  // that class is the first of the two
};

// The score, if the node concatenates the two probabilities along the axis. The complement may be Sub(1, p),
// Add(Neg(p), 1), or the Sigmoid of -score. Each probability may have been reshaped.
std::optional<TwoClasses> two_classes(const Network& network, const ValueUses& uses, const Node& node,
                                      size_t axis);

// Appends nodes that compute the scores of both classes: 0 and `score`, with the dimensions of the node's output.
ValueId scores_of_two_classes(Network& network, NodeId node, const TwoClasses& classes, size_t axis);

// v, if the node computes 1 - v.
std::optional<ValueId> complemented(const Network& network, const ValueUses& uses, const Node& node);

}  // namespace plimsoll
