// What a float initializer is for the nodes that read it: by its place there, not by its name or its numbers.
#pragma once

#include <string>
#include <unordered_map>

#include "compiler/import/graph_order.h"
#include "compiler/import/loaded_model.h"

namespace plimsoll {

struct WeightRole {
  enum class Kind { parameter, epsilon };
  Kind kind = Kind::parameter;
  std::string reason = {};  // "weight of node 'fc' (Gemm)"
};

// By the initializer's name, also where it is read through an Identity. What plimsoll.export lists as trained is a
// parameter. Else:
//   - parameter: the weight or bias of a Conv, ConvTranspose, Gemm, MatMul or recurrent layer, the scale or bias of a
//     normalization, the slope of a PRelu; a bias that is added to what a Conv, or a MatMul with an initializer, makes;
//   - epsilon: one number that is added to what a Sqrt reads, and nothing else.
// Others have no role here: what is trained of them is decided by metadata, names and numbers (values.cpp).
std::unordered_map<std::string, WeightRole> find_weight_roles(const ModelFile& file, const GraphOrder& order);

}  // namespace plimsoll
