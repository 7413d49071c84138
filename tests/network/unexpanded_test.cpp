// An Expand before an operator that broadcasts is left out, and no other.
#include <catch2/catch.hpp>

#include "compiler/network/unexpanded.h"
#include "written_network.h"

using namespace plimsoll;
using test::WrittenNetwork;

namespace {

struct Expanding : WrittenNetwork {
  ValueId shape(std::vector<int64_t> sizes) {
    const int64_t count = static_cast<int64_t>(sizes.size());
    return network.values.push_back({.name = "shape" + std::to_string(network.values.size()),
                                     .kind = ValueKind::constant,
                                     .type = {DataType::i64, {{count}}},
                                     .constant = ConstantData{.ints = std::move(sizes)}});
  }
  std::string left(ValueId output) {
    network.outputs = {output};
    leave_out_expands(network);
    std::string ops;
    for (const Node& node : network.nodes) ops += (ops.empty() ? "" : " ") + node.op;
    return ops;
  }
};

}  // namespace

TEST_CASE("an operator that broadcasts reads what an Expand repeats") {
  for (const std::string op : {"Add", "Sub", "Mul", "Div", "Max", "Pow"}) {
    Expanding net;
    const ValueId x = net.value("x", ValueKind::input, {kBatch, {3}, {8}});
    const ValueId norm = net.value("norm", ValueKind::input, {kBatch, {3}, {1}});
    const ValueId wide = net.node("Expand", {norm, net.shape({-1, 3, 8})});
    CHECK(net.left(net.node(op, {x, wide})) == op);
    CHECK(net.network.nodes.back().inputs == std::vector{x, norm});
  }
}

TEST_CASE("an Expand that gives the result its size, or has other readers, stays") {
  const auto left = [](const auto& read) {
    Expanding net;
    const ValueId x = net.value("x", ValueKind::input, {kBatch, {3}, {8}});
    const ValueId norm = net.value("norm", ValueKind::input, {kBatch, {3}, {1}});
    const ValueId wide = net.node("Expand", {norm, net.shape({-1, 3, 8})});
    return net.left(read(net, x, norm, wide));
  };
  CHECK(left([](Expanding& net, ValueId, ValueId norm, ValueId wide) { return net.node("Mul", {wide, norm}); }) ==
        "Expand Mul");
  CHECK(left([](Expanding& net, ValueId, ValueId, ValueId wide) { return net.node("Relu", {wide}); }) == "Expand Relu");
  CHECK(left([](Expanding& net, ValueId x, ValueId, ValueId wide) {
          return net.node("Add", {net.node("Mul", {x, wide}), net.node("Relu", {wide})});
        }) == "Expand Mul Relu Add");
  CHECK(left([](Expanding& net, ValueId, ValueId, ValueId wide) { return net.node("Mul", {wide, wide}); }) ==
        "Expand Mul");
}

TEST_CASE("an Expand stays if the operator could then no longer read blocks of channels") {
  const auto left = [](Dims narrow) {
    Expanding net;
    const ValueId x = net.value("x", ValueKind::input, {kBatch, {16}, {4}, {4}});
    const ValueId norm = net.value("norm", ValueKind::input, std::move(narrow));
    return net.left(net.node("Div", {x, net.node("Expand", {norm, net.shape({-1, 16, 4, 4})})}));
  };
  CHECK(left({kBatch, {1}, {4}, {4}}) == "Expand Div");
  CHECK(left({kBatch, {16}, {1}, {1}}) == "Div");
}
