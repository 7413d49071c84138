// find_row_orders: which rows of a dimension kN are of which sample, and which nodes combine those of several.
#include "compiler/network/row_order.h"

#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>

#include "compiler/network/edit.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

using Settings = std::map<std::string, NodeAttribute>;

struct Graph {
  Network network = {};

  ValueId input(const Dims& dims) {
    const ValueId id = add_value(network, "x", ValueKind::input, {DataType::f32, dims});
    network.inputs.push_back(id);
    return id;
  }
  ValueId node(const std::string& op, const std::vector<ValueId>& inputs, const Settings& attributes = {}) {
    const std::string name = op + std::to_string(network.nodes.size());
    // In opset 1 the target of a Reshape is an attribute.
    Node node{.name = name, .op = op, .opset = op == "Reshape" ? 1 : 13, .inputs = inputs};
    node.attributes = attributes;
    node.outputs = {add_value(network, name, ValueKind::intermediate, {})};
    network.nodes.push_back(node);
    const auto types = find_op(op)->infer(NodeView(network, network.nodes.back()));
    INFO((types.ok() ? "" : types.error().message));
    REQUIRE(types.ok());
    network.values[node.outputs[0]].type = (*types)[0];
    return node.outputs[0];
  }
  ValueId reshape(ValueId x, const std::vector<int64_t>& shape) { return node("Reshape", {x}, {{"shape", shape}}); }
  ValueId turned(ValueId x) { return node("Transpose", {x}, {{"perm", std::vector<int64_t>{1, 0, 2}}}); }

  // "steps × rows of each sample", "unknown", or the error.
  std::string order(ValueId value) const {
    const auto orders = find_row_orders(network, std::array{value});
    if (!orders.ok()) return orders.error().message;
    const auto& found = (*orders)[value];
    return found ? fmt::format("{} × {}", found->steps_before, found->of_sample) : "unknown";
  }
};

}  // namespace

TEST_CASE("rows are followed through reshapes, and through operators that compute row by row") {
  Graph graph;
  const ValueId x = graph.input({kBatch, {6}, {4}});
  const ValueId of_samples = graph.reshape(x, {-1, 4}), of_steps = graph.reshape(graph.turned(x), {-1, 4});
  CHECK(graph.order(x) == "1 × 1");
  CHECK(graph.order(graph.node("Relu", {of_samples})) == "1 × 6");
  CHECK(graph.order(graph.reshape(of_samples, {-1, 12})) == "1 × 2");
  CHECK(graph.order(graph.node("Flatten", {graph.turned(x)}, {{"axis", int64_t{2}}})) == "6 × 1");
  CHECK(graph.order(graph.reshape(of_steps, {-1, 2})) == "6 × 2");
  CHECK(graph.order(graph.reshape(of_steps, {6, -1, 4})) == "1 × 1");
  CHECK(graph.order(graph.reshape(of_steps, {2, -1, 4})) == "3 × 1");
  const ValueId squares = graph.reshape(of_steps, {-1, 2, 2});
  const Settings middle = {{"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t{0}}};
  CHECK(graph.order(graph.node("ReduceMean", {squares}, middle)) == "6 × 1");
}

TEST_CASE("rows of different samples are not combined") {
  Graph graph;
  const ValueId x = graph.input({kBatch, {6}, {4}});
  const ValueId of_samples = graph.reshape(x, {-1, 4}), of_steps = graph.reshape(graph.turned(x), {-1, 4});
  SECTION("by an operator") {
    CHECK(graph.order(graph.node("Add", {of_samples, of_steps})) ==
          "node 'Add3' (Add): combines rows of different samples: [6N,4] one sample after another, and [6N,4] one step "
          "after another");
  }
  SECTION("as steps that they are not") {
    CHECK(graph.order(graph.reshape(of_samples, {6, -1, 4})) ==
          "node 'Reshape3' (Reshape): combines rows of different samples: [6N,4] one sample after another, as [6,N,4]");
  }
  SECTION("as samples that they are not") {
    CHECK(graph.order(graph.reshape(of_steps, {-1, 6, 4})) ==
          "node 'Reshape3' (Reshape): combines rows of different samples: [6N,4] one step after another, as [N,6,4]");
  }
  SECTION("as one row") {
    CHECK(graph.order(graph.reshape(of_steps, {-1, 8})) ==
          "node 'Reshape3' (Reshape): combines rows of different samples: [6N,4] one step after another, as [3N,8]");
  }
}

}  // namespace plimsoll
