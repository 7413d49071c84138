// Who makes and who reads the values of a model's graph.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_order.h"

namespace plimsoll {

// Nodes are numbers in Model::nodes. Readers that are no node there:
inline constexpr int kModelOutput = -1, kWritten = -2;

struct GraphUses {
  std::unordered_map<std::string, std::vector<int>> readers = {};
  std::unordered_map<std::string, int> maker = {};
};

GraphUses find_uses(const Model& model, const GraphOrder& order);

}  // namespace plimsoll
