// Node inputs whose number of samples matches the other inputs only if the batch is followed: constants that are the
// same for each sample, and constants that an exporter wrote for the batch of its example.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/node_inputs.h"
#include "compiler/network/simplify/values.h"

namespace plimsoll {

// The replacements created so far for inputs that did not match.
struct FittedInputs {
  std::unordered_set<std::string> values = {};
  int followed = 0;  // nodes that read a replacement because of the exported batch
};

// The first slice of a constant along the axis, if all slices are equal; otherwise nullopt.
std::optional<KnownValue> first_along(const KnownValue& known, size_t axis);

// Replaces inputs of the node as its operator requires (Op::samples_rule). Returns the nodes to be added before it, in
// order.
std::vector<ModelNode> fit_inputs(ModelNode& node, ValueTable& table, NodeInputs& inputs, FittedInputs& fitted);

// A constant whose shape depends on the number of samples (the initial state of a loop, written as a constant) is not a
// weight: its elements, the same for each sample, are expanded to the actual samples. Returns the nodes that do so, to
// be added first; their outputs take the names of the constants.
std::vector<ModelNode> stretch_constants(const ModelNode& node, ValueTable& table);

}  // namespace plimsoll
