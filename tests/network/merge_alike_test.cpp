// Nodes that compute the same from what is not trained become one; all others stay.
#include <catch2/catch.hpp>

#include "compiler/network/merge_alike.h"
#include "written_network.h"

using namespace plimsoll;
using test::WrittenNetwork;

namespace {

struct Layers : WrittenNetwork {
  ValueId x = value("x", ValueKind::input, {kBatch, {4}}), w = value("w", ValueKind::parameter, {{4}});

  ValueId number(double of) {
    return network.values.push_back({.name = "c" + std::to_string(network.values.size()),
                                     .kind = ValueKind::constant,
                                     .constant = ConstantData{.reals = {of}}});
  }
  std::string merged(ValueId output) {
    network.outputs = {output};
    merge_alike(network);
    std::string ops;
    for (const Node& node : network.nodes) ops += (ops.empty() ? "" : " ") + node.op;
    return ops;
  }
};

}  // namespace

TEST_CASE("what two layers compute from inputs and numbers is computed once") {
  Layers net;
  ValueId y = net.w;
  for (int layer = 0; layer < 2; ++layer) {
    const ValueId scaled = net.node("Mul", {net.x, net.number(2)});
    y = net.node("Add", {y, net.node("Exp", {scaled})});
  }
  CHECK(net.merged(y) == "Mul Exp Add Add");
  const Node &first = net.network.nodes[NodeId(2)], &second = net.network.nodes[NodeId(3)];
  CHECK(first.inputs[1] == second.inputs[1]);
  CHECK(second.inputs[0] == first.outputs[0]);
}

TEST_CASE("numbers, attributes, marks and inputs tell nodes apart") {
  const auto merged = [](const auto& second) {
    Layers net;
    const ValueId other = net.value("other", ValueKind::input, {kBatch, {4}});
    const ValueId a = net.node("LeakyRelu", {net.node("Mul", {net.x, net.number(2)})}, {{"alpha", 0.5}});
    return net.merged(net.node("Add", {a, second(net, other)}));
  };
  const auto layer = [](Layers& net, ValueId x, double factor, double alpha) {
    return net.node("LeakyRelu", {net.node("Mul", {x, net.number(factor)})}, {{"alpha", alpha}});
  };
  CHECK(merged([&](Layers& net, ValueId) { return layer(net, net.x, 2, 0.5); }) == "Mul LeakyRelu Add");
  CHECK(merged([&](Layers& net, ValueId) { return layer(net, net.x, 3, 0.5); }) == "Mul LeakyRelu Mul LeakyRelu Add");
  CHECK(merged([&](Layers& net, ValueId) { return layer(net, net.x, 2, 0.25); }) == "Mul LeakyRelu LeakyRelu Add");
  CHECK(merged([&](Layers& net, ValueId other) { return layer(net, other, 2, 0.5); }) ==
        "Mul LeakyRelu Mul LeakyRelu Add");
  CHECK(merged([&](Layers& net, ValueId) {
          const ValueId y = layer(net, net.x, 2, 0.5);
          net.network.nodes.back().opset = 16;
          return y;
        }) == "Mul LeakyRelu LeakyRelu Add");
}

TEST_CASE("what depends on a trained weight, draws random numbers or is an output stays") {
  Layers trained;
  const ValueId a = trained.node("Mul", {trained.x, trained.w}), b = trained.node("Mul", {trained.x, trained.w});
  CHECK(trained.merged(trained.node("Add", {trained.node("Exp", {a}), trained.node("Exp", {b})})) ==
        "Mul Mul Exp Exp Add");

  Layers frozen;
  frozen.network.values[frozen.w].trainable = false;
  const ValueId c = frozen.node("Mul", {frozen.x, frozen.w}), d = frozen.node("Mul", {frozen.x, frozen.w});
  CHECK(frozen.merged(frozen.node("Add", {c, d})) == "Mul Add");

  Layers random;
  const auto dropped = [&] { return random.node("Dropout", {random.x, random.number(0.5)}); };
  const ValueId first = dropped(), second = dropped();
  CHECK(random.merged(random.node("Add", {first, second})) == "Dropout Dropout Add");

  Layers seen;
  const ValueId inner = seen.node("Exp", {seen.x}), output = seen.node("Exp", {seen.x});
  seen.node("Add", {inner, output});
  CHECK(seen.merged(output) == "Exp Exp Add");
}
