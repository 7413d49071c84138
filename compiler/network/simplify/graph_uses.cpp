#include "compiler/network/simplify/graph_uses.h"

namespace plimsoll {

GraphUses find_uses(const Model& model, const GraphOrder& order) {
  GraphUses uses;
  for (const int node : order.nodes) {
    for (const std::string& input : model.nodes[node].inputs) uses.readers[input].push_back(node);
    for (const std::string& output : model.nodes[node].outputs) uses.maker[output] = node;
  }
  for (const auto& output : model.outputs) uses.readers[output.name].push_back(kModelOutput);
  return uses;
}

}  // namespace plimsoll
