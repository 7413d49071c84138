// Replaces each If whose condition is known by the nodes of the branch that it takes.
//
// Exporters write an If where the code branches on the rank or a size of a tensor: squeeze() and diagonal() in files of
// TorchScript's exporter.
//
// Before: the attributes of the model's nodes are checked. After: an If that is left has a condition that depends on
// data or on the batch, and is reported as unsupported. Why here: the other passes see one graph.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/options.h"
#include "compiler/support/status.h"

namespace plimsoll {

// What the condition of an If depends on, and what to do about it, if it is not known.
std::string open_condition(const Model& model, const ModelNode& branching);

// Whether it is an If with two branches.
bool is_branching(const ModelNode& node);

// Errors: invalid_model (a cycle, an attribute of a node in a branch).
Status take_branches(Model& model, const SimplifyOptions& options, std::vector<std::string>& notes);

}  // namespace plimsoll
