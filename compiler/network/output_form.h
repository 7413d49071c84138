// What a loss reads of an output: scores instead of probabilities, and sample by sample.
//
// Why: exporters and libraries reshape results at the end. A score of each token is often [TN,C], and a probability is
// squeezed or turned after its Sigmoid.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

// What turns scores into probabilities.
enum class Activation { none, sigmoid, softmax };

// The output without its last activation, which the loss includes and would otherwise be applied twice. The activation
// may be followed by nodes that only move elements (Reshape, Transpose, …); they are repeated without it. A softmax may
// be spelled out as Exp, ReduceSum and Div, or as the probabilities of two classes (two_classes.h); `class_axis` is its
// axis. `notes` gets a line if a node is left out.
ValueId without_activation(Network& network, ValueId output, Activation activation, size_t class_axis,
                           std::vector<std::string>& notes);

// Whether all elements of the output are probabilities: results of a Sigmoid or Softmax, or 1 minus such a result,
// moved and concatenated. A loss on scores would apply an activation to them once more.
bool are_probabilities(const Network& network, ValueId output);

// The output with one axis for the samples, if it has several rows of each: [TN,C] → [N,T,C], or [T,N,C] if the rows of
// one step follow each other. Files of labels store one sample after another, and a row must meet its own label.
// Error: invalid_model, if the order of the rows is not known.
Result<ValueId> with_axis_of_samples(Network& network, ValueId output, std::vector<std::string>& notes);

}  // namespace plimsoll
