// The standardization of a weight becomes one operator, and what only looks similar stays.
#include <catch2/catch.hpp>

#include "compiler/network/standardized_weights.h"
#include "written_network.h"

using namespace plimsoll;
using test::WrittenNetwork;

namespace {

struct Standardization {
  Dims x = {{1}, {4}, {6}};
  std::vector<int64_t> axes = {0, 2};
  bool read = false;  // the normalized values, by another node
};

std::string fused(const Standardization& what) {
  WrittenNetwork net;
  const auto numbers = [&](DataType type, ConstantData data) {
    const auto count = static_cast<int64_t>(data.ints.size() + data.reals.size());
    return net.network.values.push_back({.name = "c" + std::to_string(net.network.values.size()),
                                         .kind = ValueKind::constant,
                                         .type = {type, type == DataType::f32 ? Dims{} : Dims{{count}}},
                                         .constant = std::move(data)});
  };
  const ValueId x = net.value("w", ValueKind::parameter, what.x), scale = net.value("s", ValueKind::parameter, {{4}}),
                bias = net.value("b", ValueKind::parameter, {{4}, {1}});
  const ValueId axes = numbers(DataType::i64, {.ints = what.axes}), behind = numbers(DataType::i64, {.ints = {1}});
  const auto node = [&](const std::string& op, std::vector<ValueId> inputs, int64_t keepdims = -1) {
    std::map<std::string, NodeAttribute> attributes;
    if (keepdims >= 0) attributes["keepdims"] = keepdims;
    const ValueId made = net.network.values.push_back({.name = op + std::to_string(net.network.nodes.size()) + ".y"});
    net.network.nodes.push_back({.name = op + std::to_string(net.network.nodes.size()),
                                 .op = op,
                                 .opset = 18,
                                 .inputs = std::move(inputs),
                                 .outputs = {made},
                                 .attributes = std::move(attributes)});
    const auto types = find_op(op)->infer(NodeView(net.network, net.network.nodes.back()));
    REQUIRE(types.ok());
    net.network.values[made].type = (*types)[0];
    return made;
  };
  const ValueId mean = node("Unsqueeze", {node("ReduceMean", {x, axes}, 0), behind});
  const ValueId off = node("Sub", {x, node("ReduceMean", {x, axes}, 1)});
  const ValueId variance = node("Unsqueeze", {node("ReduceMean", {node("Mul", {off, off}), axes}, 0), behind});
  const ValueId spread = node("Add", {variance, numbers(DataType::f32, {.reals = {1e-6}})});
  const ValueId normal = node("Div", {node("Sub", {x, mean}), node("Sqrt", {spread})});
  const ValueId scaled = node("Mul", {normal, node("Unsqueeze", {scale, behind})});
  net.network.outputs = {node("Add", {scaled, bias})};
  if (what.read) net.network.outputs.push_back(node("Relu", {normal}));
  fuse_standardized_weights(net.network);
  std::string ops;
  for (const Node& one : net.network.nodes) ops += (ops.empty() ? "" : " ") + one.op;
  if (ops == "InstanceNormalization") {
    const Node& last = net.network.nodes.back();
    CHECK(last.inputs == std::vector{x, scale, bias});
    CHECK(std::get<double>(last.attributes.at("epsilon")) == 1e-6);
  }
  return ops;
}

}  // namespace

TEST_CASE("a weight that is standardized channel by channel is one InstanceNormalization") {
  CHECK(fused({}) == "InstanceNormalization");
  CHECK(fused({.read = true}).ends_with("Relu"));
}

TEST_CASE("other means, and tensors of samples, are no standardization") {
  CHECK(fused({.x = {{1}, {4}, {4}}, .axes = {0, 1}}).ends_with("Add"));
  CHECK(fused({.x = {{2}, {4}, {6}}}).ends_with("Add"));
}
