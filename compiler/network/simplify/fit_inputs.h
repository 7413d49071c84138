// Inputs of a node that have as many samples as the others only if the batch is followed: constants that are alike for
// each sample, and what an exporter wrote for the batch of its example.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/node_inputs.h"
#include "compiler/network/simplify/values.h"

namespace plimsoll {

// What was made so far for inputs that did not fit.
struct FittedInputs {
  std::unordered_set<std::string> values = {};
  int followed = 0;  // nodes that read one of them because of the exported batch
};

// Gives the node other inputs where its operator wants so (Op::samples_rule). The nodes to be made first, in their
// order.
std::vector<ModelNode> fit_inputs(ModelNode& node, ValueTable& table, NodeInputs& inputs, FittedInputs& fitted);

// A constant whose shape depends on the number of samples (the state before the first step of a loop, written out) is
// no weight: its elements, of which each sample has the same, are stretched to the samples that are there. The nodes
// that do so, to be made first; they give the constants' names to what they make.
std::vector<ModelNode> stretch_constants(const ModelNode& node, ValueTable& table);

}  // namespace plimsoll
