// Channels last where tasks are then cheaper: the minimum cut, and the resulting network.
#include "compiler/network/layout.h"

#include <catch2/catch.hpp>

#include <random>

#include "compiler/network/layout_choice.h"
#include "compiler/network/loss.h"
#include "compiler/network/min_cut.h"

using namespace plimsoll;

namespace {

//   x:8 ─ conv ─ relu ─ conv ─ relu ─ … ─ pool ─ flatten ─ loss        convolutions from 8 to 8 channels, on 4×4 pixels
struct Net {
  Network network{.name = "net"};
  std::vector<std::string> convolutions;

  ValueId value(std::string name, Dims dims, ValueKind kind = ValueKind::intermediate) {
    return network.values.push_back({.name = std::move(name),
                                     .kind = kind,
                                     .type = {.dims = std::move(dims)},
                                     .trainable = kind == ValueKind::parameter});
  }
  ValueId node(std::string op, std::vector<ValueId> inputs, Dims dims,
               std::map<std::string, NodeAttribute> attributes = {}) {
    const std::string name = op + std::to_string(network.nodes.size());
    const ValueId output = value(name + ".y", std::move(dims));
    network.nodes.push_back({.name = name,
                             .op = std::move(op),
                             .opset = 13,
                             .inputs = std::move(inputs),
                             .outputs = {output},
                             .attributes = std::move(attributes)});
    return output;
  }
  Net() = default;
  explicit Net(int count) {
    const Dims image = {kBatch, {8}, {4}, {4}};
    ValueId at = value("x", image, ValueKind::input);
    network.inputs = {at};
    for (int i = 0; i < count; ++i) {
      const ValueId w = value("w" + std::to_string(i), {{8}, {8}, {3}, {3}}, ValueKind::parameter);
      at = node("Conv", {at, w}, image, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
      convolutions.push_back(network.nodes.back().name);
      at = node("Relu", {at}, image);
    }
    at = node("GlobalAveragePool", {at}, {kBatch, {8}, {1}, {1}});
    at = node("Flatten", {at}, {kBatch, {8}});
    network.outputs = {at};
    std::vector<std::string> notes;
    REQUIRE(attach_loss(network, LossKind::softmax_cross_entropy, notes).ok());
  }
};

// Convolutions cost by layout and position, reorders have a price, everything else is free.
class Priced final : public Costs {
 public:
  std::map<std::string, double> plain, last;  // by the node's name

  Status prepare(const TaskGraph& graph, int64_t) override {
    for (const Task& task : graph.tasks) {
      double seconds = task.kernel == "Reorder" ? 1 : 0;
      if (task.kernel == "ConvForward")
        seconds = (task.operands[0].type.layout == Layout::nhwc ? last : plain).at(task.layer);
      of_task_[&task] = {{.name = "default", .seconds = seconds}};
    }
    return {};
  }
  std::span<const AlgorithmCost> algorithms(const Task& task, int64_t) const override { return of_task_.at(&task); }

 private:
  std::map<const Task*, std::vector<AlgorithmCost>> of_task_;
};

std::string ops_of(const Network& network) {
  std::string ops;
  for (const Node& node : network.nodes) ops += (ops.empty() ? "" : " ") + node.op;
  return ops;
}

// The network with the chosen layouts, and the choice.
std::pair<Network, LayoutChoice> chosen(const Net& net, Priced& costs) {
  Result<LayoutChoice> choice = choose_layouts(net.network, {.batch = 2}, costs, 2, false);
  REQUIRE(choice.ok());
  Network network = net.network;
  CHECK(assign_layouts(network, Layout::nhwc, choice->last) == choice->last);
  return {std::move(network), *choice};
}

}  // namespace

TEST_CASE("of all ways to label things the cheapest is found, and of equal ones that with the fewest of B") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const size_t count = 1 + random() % 9;
    std::vector<std::pair<int64_t, int64_t>> prices;
    std::vector<std::tuple<size_t, size_t, int64_t>> pairs;
    TwoLabels labels;
    for (size_t i = 0; i < count; ++i) {
      prices.emplace_back(random() % 10, random() % 8 == 0 ? TwoLabels::kNever : static_cast<int64_t>(random() % 10));
      labels.add(prices.back().first, prices.back().second);
    }
    for (size_t i = 0; i < 2 * count; ++i) {
      const size_t a = random() % count, b = random() % count;
      pairs.emplace_back(a, b, random() % 10 == 0 ? TwoLabels::kNever : static_cast<int64_t>(random() % 8));
      labels.add_disagreement(a, b, std::get<2>(pairs.back()));
    }
    const auto is_b = [](size_t ways, size_t i) { return ((ways >> i) & 1) != 0; };
    const auto price = [&](size_t ways) {
      int64_t sum = 0;
      for (size_t i = 0; i < count; ++i)
        sum = std::min(TwoLabels::kNever, sum + (is_b(ways, i) ? prices[i].second : prices[i].first));
      for (const auto& [a, b, cost] : pairs)
        if (!is_b(ways, a) && is_b(ways, b)) sum = std::min(TwoLabels::kNever, sum + cost);
      return sum;
    };
    const auto bits = [](size_t ways) { return __builtin_popcountll(ways); };
    size_t best = 0;
    for (size_t ways = 0; ways < size_t{1} << count; ++ways)
      if (price(ways) < price(best) || (price(ways) == price(best) && bits(ways) < bits(best))) best = ways;
    const std::vector<bool> labelled = labels.cheapest();
    size_t found = 0;
    for (size_t i = 0; i < count; ++i) found |= size_t{labelled[i]} << i;
    INFO("round " << round);
    CHECK(price(found) == price(best));
    CHECK(found == best);
  }
}

TEST_CASE("a convolution that is faster channels last has it so, if that pays for the reorders around it") {
  const Net net(3);
  Priced costs;
  for (const std::string& name : net.convolutions) costs.plain[name] = costs.last[name] = 10;
  SECTION("equal times: plain") {
    const auto [network, choice] = chosen(net, costs);
    CHECK(choice.nodes_last == 0);
    CHECK(choice.seconds == Approx(30));
    CHECK(network.nodes.size() == net.network.nodes.size());
  }
  SECTION("the one in the middle wins more than two reorders take, and two of gradients") {
    costs.last = {{net.convolutions[0], 20}, {net.convolutions[1], 5}, {net.convolutions[2], 20}};
    const auto [network, choice] = chosen(net, costs);
    CHECK(ops_of(network) ==
          "Conv Relu Reorder Conv Reorder Relu Conv Relu GlobalAveragePool Flatten SoftmaxCrossEntropyLoss");
    CHECK(choice.nodes_last == 1);
    CHECK(choice.reorders == 2);
    CHECK(choice.seconds == Approx(25 + 4));
    CHECK(choice.plain_seconds == Approx(30));
  }
  SECTION("or does not") {
    costs.last = {{net.convolutions[0], 20}, {net.convolutions[1], 7}, {net.convolutions[2], 20}};
    CHECK(chosen(net, costs).second.nodes_last == 0);
  }
  SECTION("where the others do not mind, they come along: the input alone is turned around") {
    costs.last[net.convolutions[1]] = 5;
    const auto [network, choice] = chosen(net, costs);
    CHECK(choice.reorders == 1);
    CHECK(choice.seconds == Approx(25 + 1));
  }
  SECTION("all of them: the input is turned around, without a gradient; the last pool's pixels are the same bytes") {
    for (const std::string& name : net.convolutions) costs.last[name] = 8;
    const auto [network, choice] = chosen(net, costs);
    CHECK(ops_of(network).starts_with("Reorder Conv Relu Conv Relu Conv Relu "));
    CHECK(choice.reorders == 1);
    CHECK(choice.seconds == Approx(24 + 1));
    CHECK(choice.last_seconds == Approx(24 + 1));
    for (const Value& value : network.values)
      if (value.name.starts_with("w")) CHECK(value.type.layout == Layout::nhwc);
  }
}

TEST_CASE("a weight of two convolutions lies one way for both") {
  Net net(2);
  net.network.nodes[NodeId(2)].inputs[1] = net.network.nodes[NodeId(0)].inputs[1];
  Priced costs;
  costs.plain = {{net.convolutions[0], 10}, {net.convolutions[1], 10}};
  costs.last = {{net.convolutions[0], 1}, {net.convolutions[1], 12}};
  const auto [network, choice] = chosen(net, costs);
  CHECK(choice.last[NodeId(0)]);
  CHECK(choice.last[NodeId(2)]);
}

TEST_CASE("as asked, everything that can is channels last") {
  Net net(2);
  assign_layouts(net.network, Layout::nhwc);
  CHECK(ops_of(net.network) == "Reorder Conv Relu Conv Relu GlobalAveragePool Reorder Flatten SoftmaxCrossEntropyLoss");
  REQUIRE(build_task_graph(net.network, {.batch = 2}).ok());
}

TEST_CASE("a group normalization reads blocks of channels as they come, and no channels last") {
  const auto made = [](Layout images) {
    Net net;
    const Dims image = {kBatch, {16}, {4}, {4}};
    const ValueId x = net.value("x", image, ValueKind::input);
    net.network.inputs = {x};
    const auto parameter = [&](const char* name, Dims dims) {
      return net.value(name, std::move(dims), ValueKind::parameter);
    };
    const std::map<std::string, NodeAttribute> padded = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}};
    ValueId y = net.node("Conv", {x, parameter("w", {{16}, {16}, {3}, {3}})}, image, padded);
    y = net.node("GroupNormalization", {y, parameter("scale", {{16}}), parameter("bias", {{16}})}, image,
                 {{"num_groups", int64_t{4}}, {"epsilon", 1e-5}});
    net.network.nodes.back().opset = 21;
    net.network.outputs = {net.node("Conv", {y, parameter("v", {{16}, {16}, {3}, {3}})}, image, padded)};
    assign_layouts(net.network, images);
    std::string ops;
    for (const Node& node : net.network.nodes) ops += node.op + " ";
    return ops;
  };
  CHECK(made(Layout::nChw16c) == "Conv GroupNormalization Conv Reorder ");
  CHECK(made(Layout::nhwc) == "Reorder Conv Reorder GroupNormalization Reorder Conv Reorder ");
}

TEST_CASE("weights of convolutions over volumes lie plainly, also where their channels fill a block") {
  for (const Layout images : {Layout::nChw8c, Layout::nChw16c, Layout::nhwc}) {
    for (const std::string op : {"Conv", "ConvTranspose"}) {
      for (const bool volume : {true, false}) {
        INFO(op << (volume ? " of volumes, " : " of images, ") << name_of(images));
        const Dims data = volume ? Dims{kBatch, {16}, {2}, {3}, {3}} : Dims{kBatch, {16}, {3}, {3}};
        const Dims weight = volume ? Dims{{16}, {16}, {1}, {1}, {1}} : Dims{{16}, {16}, {1}, {1}};
        Net net;
        const ValueId x = net.value("x", data, ValueKind::input), w = net.value("w", weight, ValueKind::parameter);
        net.network.inputs = {x};
        net.network.outputs = {net.node(op, {x, w}, data)};
        std::vector<std::string> notes;
        REQUIRE(attach_loss(net.network, LossKind::mse, notes).ok());
        assign_layouts(net.network, images);
        CHECK((net.network.values[w].type.layout == Layout::plain) == volume);
        CHECK(build_task_graph(net.network, {.batch = 2}).ok());
      }
    }
  }
}

TEST_CASE("the graphs of both layouts and every reorder between them are there to be measured") {
  const Net net(2);
  const auto graphs = graphs_of_layouts(net.network, {.batch = 2});
  REQUIRE(graphs.ok());
  REQUIRE(graphs->size() == 3);
  for (const Task& task : (*graphs)[2].tasks) CHECK(task.kernel == "Reorder");
  CHECK((*graphs)[2].tasks.size() == 2);  // in both directions; single pixels have the same bytes either way
}
