// A network that a test writes by hand: values, and nodes whose outputs have the types that their operators infer.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/op.h"

namespace plimsoll::test {

struct WrittenNetwork {
  Network network;

  ValueId value(const std::string& name, ValueKind kind, Dims dims) {
    const ValueId id = network.values.push_back({.name = name, .kind = kind, .type = {DataType::f32, std::move(dims)}});
    network.values[id].trainable = kind == ValueKind::parameter;
    if (kind == ValueKind::parameter) network.values[id].initializer = name;
    if (kind == ValueKind::input) network.inputs.push_back(id);
    return id;
  }

  // Named by its operator and its number: "Relu1", with the output "Relu1.y".
  ValueId node(const std::string& op, std::vector<ValueId> inputs,
               std::map<std::string, NodeAttribute> attributes = {}) {
    const std::string name = op + std::to_string(network.nodes.size());
    const ValueId output = network.values.push_back({.name = name + ".y"});
    network.nodes.push_back({.name = name,
                             .op = op,
                             .opset = 13,
                             .inputs = std::move(inputs),
                             .outputs = {output},
                             .attributes = std::move(attributes)});
    const auto types = find_op(op)->infer(NodeView(network, network.nodes.back()));
    INFO((types.ok() ? "" : types.error().message));
    REQUIRE(types.ok());
    network.values[output].type = (*types)[0];
    return output;
  }
};

}  // namespace plimsoll::test
