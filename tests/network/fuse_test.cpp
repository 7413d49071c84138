#include "compiler/network/fuse.h"

#include <catch2/catch.hpp>

#include "compiler/network/fuse_additions.h"
#include "compiler/network/layout.h"

using namespace plimsoll;

namespace {

// Builds a chain of nodes: each has one data input and one output of the same type.
struct FuseChain {
  Network network;

  ValueId value(const std::string& name, Dims dims, ValueKind kind = ValueKind::intermediate) {
    return network.values.push_back({.name = name, .kind = kind, .type = {DataType::f32, std::move(dims)}});
  }
  ValueId image(const std::string& name, int64_t channels) { return value(name, {kBatch, {channels}, {8}, {8}}); }
  void node(const std::string& op, std::vector<ValueId> inputs, ValueId output) {
    network.nodes.push_back({.name = op + std::to_string(network.nodes.size()),
                             .op = op,
                             .opset = 17,
                             .inputs = std::move(inputs),
                             .outputs = {output}});
  }
  std::string ops() const {
    std::string text;
    for (const Node& node : network.nodes) text += (text.empty() ? "" : " ") + node.op;
    return text;
  }
};

}  // namespace

//   x ─ Conv ─ a ─ Relu ─ b ─ Conv ─ c ─┬─ Relu ─ d
//                                       └─ Relu ─ e      c has two readers: it must stay
TEST_CASE("a Relu melts into the node before it, when it is the only reader") {
  FuseChain chain;
  const ValueId x = chain.image("x", 3), a = chain.image("a", 16), b = chain.image("b", 16), c = chain.image("c", 16);
  const ValueId d = chain.image("d", 16), e = chain.image("e", 16);
  const ValueId w = chain.value("w", {{16}, {3}, {3}, {3}}, ValueKind::parameter);
  const ValueId v = chain.value("v", {{16}, {16}, {3}, {3}}, ValueKind::parameter);
  chain.node("Conv", {x, w}, a);
  chain.node("Relu", {a}, b);
  chain.node("Conv", {b, v}, c);
  chain.node("Relu", {c}, d);
  chain.node("Relu", {c}, e);
  chain.network.outputs = {d, e};
  fuse_activations(chain.network);
  CHECK(chain.ops() == "Conv Conv Relu Relu");
  CHECK(chain.network.nodes[NodeId(0)].outputs[0] == b);
  CHECK(chain.network.nodes[NodeId(0)].marks.activation == FusedActivation::relu);
  CHECK(chain.network.nodes[NodeId(1)].marks.activation == FusedActivation::none);
}

//   x ─ BN ─ a ─ Swish ─ b ─ BN(+ x) ─ c ─ Swish ─ d ─ Conv ─ e ─ HardSwish ─ f ─ BN ─ g ─ HardSwish ─ h
TEST_CASE("a Swish melts into a batch normalization without an addend, and into no convolution") {
  FuseChain chain;
  const ValueId x = chain.image("x", 16), a = chain.image("a", 16), b = chain.image("b", 16), c = chain.image("c", 16);
  const ValueId d = chain.image("d", 16), e = chain.image("e", 16), f = chain.image("f", 16), g = chain.image("g", 16);
  const ValueId h = chain.image("h", 16), w = chain.value("w", {{16}, {16}, {1}, {1}}, ValueKind::parameter);
  const ValueId scale = chain.value("s", {{16}}, ValueKind::parameter),
                mean = chain.value("m", {{16}}, ValueKind::statistic);
  chain.node("BatchNormalization", {x, scale, scale, mean, mean}, a);
  chain.node("Swish", {a}, b);
  chain.node("BatchNormalization", {b, scale, scale, mean, mean, x}, c);
  chain.node("Swish", {c}, d);
  chain.node("Conv", {d, w}, e);
  chain.node("HardSwish", {e}, f);
  chain.node("BatchNormalization", {f, scale, scale, mean, mean}, g);
  chain.node("HardSwish", {g}, h);
  chain.network.outputs = {h};
  fuse_activations(chain.network);
  CHECK(chain.ops() == "BatchNormalization BatchNormalization Swish Conv HardSwish BatchNormalization");
  CHECK(chain.network.nodes[NodeId(0)].marks.activation == FusedActivation::swish);
  CHECK(chain.network.nodes[NodeId(0)].outputs == std::vector{b});
  CHECK(chain.network.nodes[NodeId(5)].marks.activation == FusedActivation::hard_swish);
}

TEST_CASE("a Swish with another factor is not melted") {
  FuseChain chain;
  const ValueId x = chain.image("x", 16), a = chain.image("a", 16), b = chain.image("b", 16);
  const ValueId scale = chain.value("s", {{16}}, ValueKind::parameter),
                mean = chain.value("m", {{16}}, ValueKind::statistic);
  chain.node("BatchNormalization", {x, scale, scale, mean, mean}, a);
  chain.node("Swish", {a}, b);
  chain.network.nodes.back().attributes["alpha"] = 1.702;
  chain.network.outputs = {b};
  fuse_activations(chain.network);
  CHECK(chain.ops() == "BatchNormalization Swish");
}

TEST_CASE("an output of the network is not melted away") {
  FuseChain chain;
  const ValueId x = chain.image("x", 3), a = chain.image("a", 16), b = chain.image("b", 16);
  const ValueId w = chain.value("w", {{16}, {3}, {3}, {3}}, ValueKind::parameter);
  chain.node("Conv", {x, w}, a);
  chain.node("Relu", {a}, b);
  chain.network.outputs = {a, b};
  fuse_activations(chain.network);
  CHECK(chain.ops() == "Conv Relu");
}

//   x ─┬─ BN ─ a ─┬─ Add ─ c ─ Relu ─ d ─ BN ─ e ─┬─ Add ─ f          c, a, e are removed; the second has no Relu
//      └─ BN ─ b ─┘                     └──────────┘                  of the two that could, the later adds: a stays
TEST_CASE("an Add melts into the batch normalization before it, and a Relu behind it, too") {
  FuseChain chain;
  const ValueId x = chain.image("x", 16), a = chain.image("a", 16), b = chain.image("b", 16), c = chain.image("c", 16);
  const ValueId d = chain.image("d", 16), e = chain.image("e", 16), f = chain.image("f", 16);
  const ValueId scale = chain.value("s", {{16}}, ValueKind::parameter),
                mean = chain.value("m", {{16}}, ValueKind::statistic);
  const auto bn = [&](ValueId from, ValueId to) {
    chain.node("BatchNormalization", {from, scale, scale, mean, mean}, to);
  };
  bn(x, a);
  bn(x, b);
  chain.node("Add", {a, b}, c);
  chain.node("Relu", {c}, d);
  bn(d, e);
  chain.node("Add", {d, e}, f);
  chain.network.outputs = {f};
  fuse_additions(chain.network);
  CHECK(chain.ops() == "BatchNormalization BatchNormalization Relu BatchNormalization");
  fuse_activations(chain.network);
  REQUIRE(chain.ops() == "BatchNormalization BatchNormalization BatchNormalization");
  const Node &first = chain.network.nodes[NodeId(1)], &second = chain.network.nodes[NodeId(2)];
  CHECK(first.name == "BatchNormalization1");
  CHECK(first.inputs == std::vector{x, scale, scale, mean, mean, a});
  CHECK(first.outputs == std::vector{d});
  CHECK(first.marks.activation == FusedActivation::relu);
  CHECK(second.inputs == std::vector{d, scale, scale, mean, mean, d});
  CHECK(second.outputs == std::vector{f});
  CHECK(second.marks.activation == FusedActivation::none);
}

//   x ─ BN ─ a ─┬─ Add ─ d          b is made after a, but must exist before the Add, so the fused node moves there
//   x ─ Conv ─ b┘
TEST_CASE("a melted node stands where the Add stood") {
  FuseChain chain;
  const ValueId x = chain.image("x", 16), a = chain.image("a", 16), b = chain.image("b", 16), d = chain.image("d", 16);
  const ValueId scale = chain.value("s", {{16}}, ValueKind::parameter),
                mean = chain.value("m", {{16}}, ValueKind::statistic);
  const ValueId w = chain.value("w", {{16}, {16}, {1}, {1}}, ValueKind::parameter);
  chain.node("BatchNormalization", {x, scale, scale, mean, mean}, a);
  chain.node("Conv", {x, w}, b);
  chain.node("Add", {a, b}, d);
  chain.network.outputs = {d};
  fuse_additions(chain.network);
  CHECK(chain.ops() == "Conv BatchNormalization");
  CHECK(chain.network.nodes[NodeId(1)].inputs.back() == b);
}

//   a is read twice; g is broadcast to a; the term is an output: each Add stays
TEST_CASE("an Add stays where its term is read elsewhere, stretched, or an output") {
  const auto ops_after = [](int what) {
    FuseChain chain;
    const ValueId x = chain.image("x", 16), a = chain.image("a", 16), d = chain.image("d", 16),
                  e = chain.image("e", 16);
    const ValueId gate = chain.value("g", {kBatch, {16}, {1}, {1}});
    const ValueId scale = chain.value("s", {{16}}, ValueKind::parameter),
                  mean = chain.value("m", {{16}}, ValueKind::statistic);
    chain.node("BatchNormalization", {x, scale, scale, mean, mean}, a);
    chain.node("Add", {a, what == 0 ? a : what == 1 ? gate : x}, d);
    chain.network.outputs = {d};
    if (what == 2) chain.network.outputs.push_back(a);
    if (what == 3) chain.node("Relu", {a}, e);
    fuse_additions(chain.network);
    return chain.ops();
  };
  CHECK(ops_after(0) == "BatchNormalization Add");
  CHECK(ops_after(1) == "BatchNormalization Add");
  CHECK(ops_after(2) == "BatchNormalization Add");
  CHECK(ops_after(3) == "BatchNormalization Add Relu");
  CHECK(ops_after(4) == "BatchNormalization");
}

//   x:3 ─ Conv ─ a:32 ─ Relu ─ b:32 ─ Conv ─ c:10 ─ Relu ─ d:10
// 32 channels are blocked, 3 and 10 are not; the second convolution converts between layouts, so no Reorder is needed.
TEST_CASE("channels are blocked where they divide, and convolutions bridge layouts") {
  FuseChain chain;
  const ValueId x = chain.image("x", 3), a = chain.image("a", 32), b = chain.image("b", 32);
  const ValueId c = chain.image("c", 10), d = chain.image("d", 10);
  const ValueId w = chain.value("w", {{32}, {3}, {3}, {3}}, ValueKind::parameter);
  const ValueId v = chain.value("v", {{10}, {32}, {3}, {3}}, ValueKind::parameter);
  chain.node("Conv", {x, w}, a);
  chain.node("Relu", {a}, b);
  chain.node("Conv", {b, v}, c);
  chain.node("Relu", {c}, d);
  chain.network.outputs = {d};
  assign_layouts(chain.network, Layout::nChw16c);
  const auto layout = [&](ValueId value) { return chain.network.values[value].type.layout; };
  CHECK(layout(x) == Layout::plain);
  CHECK(layout(a) == Layout::nChw16c);
  CHECK(layout(b) == Layout::nChw16c);
  CHECK(layout(c) == Layout::plain);
  CHECK(layout(d) == Layout::plain);
  CHECK(layout(w) == Layout::Ohwi16o);
  CHECK(layout(v) == Layout::plain);
  CHECK(chain.ops() == "Conv Relu Conv Relu");
}

TEST_CASE("what leaves the network is plain: a Reorder stands before the output") {
  FuseChain chain;
  const ValueId x = chain.image("x", 16), a = chain.image("a", 32);
  const ValueId w = chain.value("w", {{32}, {16}, {3}, {3}}, ValueKind::parameter);
  chain.node("Conv", {x, w}, a);
  chain.network.outputs = {a};
  assign_layouts(chain.network, Layout::nChw16c);
  CHECK(chain.ops() == "Conv Reorder");
  CHECK(chain.network.values[w].type.layout == Layout::OIhw16i16o);
  CHECK(chain.network.values[chain.network.outputs[0]].type.layout == Layout::plain);
}
