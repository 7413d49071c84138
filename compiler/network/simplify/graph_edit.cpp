#include "compiler/network/simplify/graph_edit.h"

#include <algorithm>

namespace plimsoll {

void remove_makers(Model& model, const std::unordered_set<std::string>& outputs) {
  if (outputs.empty()) return;
  const auto gone = std::remove_if(model.nodes.begin(), model.nodes.end(), [&](const ModelNode& node) {
    return node.outputs.size() == 1 && outputs.contains(node.outputs[0]);
  });
  model.nodes.erase(gone, model.nodes.end());
}

}  // namespace plimsoll
