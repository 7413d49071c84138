// What a float initializer is for the nodes that read it: by its place there, not by its name or its numbers.
#pragma once

#include <string>
#include <unordered_map>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_order.h"

namespace plimsoll {

struct WeightRole {
  enum class Kind { parameter, epsilon };
  Kind kind = Kind::parameter;
  std::string reason = {};  // "weight of node 'fc' (Gemm)"
};

// By the initializer's name, also where it is read through nodes that only show it in another form (Transpose, Reshape,
// Slice, …). What plimsoll.export lists as trained, what torch's dynamo exporter marks as a parameter and all that a
// network of `plimsoll model` has are parameters. Else:
//   - parameter: the weight or bias of a Conv, ConvTranspose, Gemm, MatMul or recurrent layer, the scale or bias of a
//     normalization (also of one that is spelled out), the slope of a PRelu; a bias that is added to what a Conv, or a
//     MatMul with an initializer, makes; a table whose rows a Gather picks by numbers that come from an input;
//   - epsilon: one number that is added to what a Sqrt reads, and nothing else.
// Others have no role here. Names and numbers tell of some that they are constants (values.cpp); what is left is
// undecided, and the user is asked (compiler/network/undecided.h).
std::unordered_map<std::string, WeightRole> find_weight_roles(const Model& model, const GraphOrder& order);

// By the initializer's name: PARAMETER, BUFFER, CONSTANT_TENSOR. torch's dynamo exporter notes on the value_info of
// each what the module has it for.
std::unordered_map<std::string, std::string> exporter_marks(const Model& model);

}  // namespace plimsoll
