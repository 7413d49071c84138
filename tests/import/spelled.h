// A model of one node, for tests of how the node is written as other operators.
#pragma once

#include <string>
#include <vector>

#include "compiler/import/loaded_model.h"
#include "model_builder.h"

namespace plimsoll {

// Reads x [N,8,6,6] or another input, computes y by one node; the resulting operators, and y's dimensions.
struct Spelled {
  ModelBuilder build = ModelBuilder(18);
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs) {
    build.output("y");
    return build.node(op, inputs, {"y"}, "node");
  }
  std::string said() const {
    const auto imported = build.import();
    if (!imported.ok()) return outcome(imported);
    std::string ops;
    for (const Node& made : imported->network.nodes) ops += made.op + " ";
    return ops + to_string(imported->network.values[imported->network.outputs[0]].type.dims);
  }
};

}  // namespace plimsoll
