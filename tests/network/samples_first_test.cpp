// Inputs whose samples are not on the first axis.
#include "compiler/network/samples_first.h"

#include <catch2/catch.hpp>

using namespace plimsoll;

namespace {

// x → Relu → y, of this type.
Network one_relu(const TensorType& type) {
  Network network;
  const ValueId x = network.values.push_back({.name = "x", .kind = ValueKind::input, .type = type});
  const ValueId y = network.values.push_back({.name = "y", .type = type});
  network.nodes.push_back({.name = "relu", .op = "Relu", .opset = 17, .inputs = {x}, .outputs = {y}});
  network.inputs = {x};
  network.outputs = {y, x};
  return network;
}

}  // namespace

TEST_CASE("an input with its steps first is fed samples first, and turned for those that read it") {
  Network network = one_relu({.dims = {{7}, kBatch, {3}}});
  std::vector<std::string> notes;
  REQUIRE(put_samples_first(network, notes).ok());
  REQUIRE(network.nodes.size() == 2);
  const Node &turn = network.nodes[NodeId(0)], &relu = network.nodes[NodeId(1)];
  CHECK(turn.op == "Transpose");
  CHECK(std::get<std::vector<int64_t>>(turn.attributes.at("perm")) == std::vector<int64_t>{1, 0, 2});
  CHECK(turn.inputs == network.inputs);
  CHECK(relu.inputs == turn.outputs);
  CHECK(network.outputs == std::vector<ValueId>{relu.outputs[0], turn.outputs[0]});
  const Value& fed = network.values[turn.inputs[0]];
  const Value& turned = network.values[turn.outputs[0]];
  const Value& made = network.values[relu.outputs[0]];
  CHECK(fed.kind == ValueKind::input);
  CHECK(fed.type.dims == Dims{kBatch, {7}, {3}});
  CHECK(turned.name == "x:2");
  CHECK(turned.kind == ValueKind::intermediate);
  CHECK(turned.type.dims == Dims{{7}, kBatch, {3}});
  CHECK(made.name == "y");
  CHECK(notes.size() == 1);

  REQUIRE(put_samples_first(network, notes).ok());
  CHECK(network.nodes.size() == 2);
  CHECK(notes.size() == 1);
}

TEST_CASE("an input with its samples first, or without any, stays as it is") {
  for (const Dims& dims : {Dims{kBatch, {7}}, Dims{{7}, {3}}, Dims{}}) {
    Network network = one_relu({.dims = dims});
    std::vector<std::string> notes;
    REQUIRE(put_samples_first(network, notes).ok());
    CHECK(network.nodes.size() == 1);
    CHECK(network.values[network.inputs[0]].type.dims == dims);
    CHECK(notes.empty());
  }
}
