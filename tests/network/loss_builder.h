// Small hand-made networks for the tests of losses.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/ops/node_view.h"
#include "compiler/ops/op.h"

namespace plimsoll {

struct LossBuilder {
  Network network;

  ValueId value(std::string name, ValueKind kind, TensorType type) {
    const ValueId id = network.values.push_back({.name = name, .kind = kind, .type = std::move(type)});
    network.values[id].trainable = kind == ValueKind::parameter;
    network.values[id].initializer = kind == ValueKind::parameter ? name : "";
    if (kind == ValueKind::input) network.inputs.push_back(id);
    return id;
  }

  ValueId node(std::string op, std::vector<ValueId> inputs, size_t outputs = 1) {
    const std::string name = op + std::to_string(network.nodes.size());
    Node node{.name = name, .op = op, .opset = 13, .inputs = std::move(inputs)};
    for (size_t i = 0; i < outputs; ++i)
      node.outputs.push_back(value(name + "." + std::to_string(i), ValueKind::intermediate, {}));
    network.nodes.push_back(node);
    if (const Op* known = find_op(op)) {
      const auto types = known->infer(NodeView(network, network.nodes.back()));
      INFO((types.ok() ? "" : types.error().message));
      REQUIRE(types.ok());
      for (size_t i = 0; i < outputs; ++i) network.values[node.outputs[i]].type = (*types)[i];
    }
    return node.outputs[0];
  }
};

// x [N,7] → Gemm → Relu, and a second head that is not trained.
inline LossBuilder classifier() {
  LossBuilder b;
  const ValueId x = b.value("x", ValueKind::input, {DataType::f32, {kBatch, {7}}});
  const ValueId w = b.value("w", ValueKind::parameter, {DataType::f32, {{7}, {5}}});
  const ValueId v = b.value("v", ValueKind::parameter, {DataType::f32, {{7}, {3}}});
  const ValueId scores = b.node("Relu", {b.node("Gemm", {x, w})});
  b.network.outputs = {scores, b.node("Gemm", {x, v})};
  return b;
}

}  // namespace plimsoll
