// The makers and readers of the values of a model's graph.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_order.h"

namespace plimsoll {

// Nodes are indices into Model::nodes. These mark readers that are not nodes of the model:
inline constexpr int kModelOutput = -1, kWritten = -2;

struct GraphUses {
  std::unordered_map<std::string, std::vector<int>> readers = {};
  std::unordered_map<std::string, int> maker = {};
};

GraphUses find_uses(const Model& model, const GraphOrder& order);

}  // namespace plimsoll
