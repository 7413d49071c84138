#include "compiler/network/layout_choice.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/network/layout.h"
#include "compiler/network/min_cut.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

// Prices are integer picoseconds, so that sums do not depend on the order of addition.
int64_t price_of(double seconds) { return std::llround(std::min(seconds, 1e4) * 1e12); }
double seconds_of(int64_t price) { return 1e-12 * static_cast<double>(price); }

bool is_image(const Value& value) {
  return value.type.rank() == 4 && value.type.type == DataType::f32 &&
         (value.kind == ValueKind::intermediate || value.kind == ValueKind::input);
}

bool is_image(const Network& network, ValueId id) { return id.valid() && is_image(network.values[id]); }

// With one channel, or one pixel per channel, both layouts have the same bytes.
bool is_same_bytes(const TensorType& type) {
  return type.dims[1] == Dim{1} || (type.dims[2] == Dim{1} && type.dims[3] == Dim{1});
}

TensorType in_layout(TensorType type, Layout layout) {
  type.layout = layout;
  return type;
}

// Every node that can be channels last is.
struct AllLast {
  Network network;
  IdVector<NodeId, bool> last;

  explicit AllLast(const Network& given) : network(given) {
    last = assign_layouts(network, Layout::nhwc, IdVector<NodeId, bool>(given.nodes.size(), true));
  }
};

// The task of a Reorder of `type` to the other layout. Creates both tensors.
Task reorder_task(TaskGraph& graph, const TensorType& type, Layout from, Layout to) {
  Task task{.name = to_string(type) + " to " + std::string(name_of(to)),
            .op = "Reorder",
            .layer = "reorder",
            .kernel = "Reorder"};
  for (const auto& [layout, access] : {std::pair(from, Access::read), {to, Access::write}}) {
    const TensorType lies = in_layout(type, layout);
    const TensorId tensor =
        graph.tensors.push_back({.name = task.name + (access == Access::read ? ".x" : ".y"), .type = lies});
    task.operands.push_back({tensor, access, lies});
  }
  return task;
}

// All possible reorders: of every image read or written by a node that can be channels last.
TaskGraph graph_of_reorders(const Network& network, const IdVector<NodeId, bool>& can_be_last, int64_t batch) {
  TaskGraph graph{.name = network.name, .batch = batch};
  std::vector<TensorType> seen;
  for (const NodeId id : ids_of(network.nodes)) {
    if (!can_be_last[id]) continue;
    for (const auto* const values : {&network.nodes[id].inputs, &network.nodes[id].outputs})
      for (const ValueId value : *values) {
        if (!is_image(network, value) || is_same_bytes(network.values[value].type)) continue;
        const TensorType& type = network.values[value].type;
        if (std::find(seen.begin(), seen.end(), type) != seen.end()) continue;
        seen.push_back(type);
        graph.tasks.push_back(reorder_task(graph, type, Layout::plain, Layout::nhwc));
        graph.tasks.push_back(reorder_task(graph, type, Layout::nhwc, Layout::plain));
      }
  }
  return graph;
}

// The fastest algorithm that a plan may choose.
int64_t price_of(const Task& task, const Costs& costs, int64_t samples) {
  const auto algorithms = costs.algorithms(task, samples);
  for (const AlgorithmCost& algorithm : algorithms)
    if (algorithm.deterministic || costs.admits_nondeterministic()) return price_of(algorithm.seconds);
  return price_of(algorithms.front().seconds);
}

// The sum over all tasks of a node, forward and backward, by layer_name().
std::map<std::string, int64_t> prices_of_nodes(const TaskGraph& graph, const Costs& costs, int64_t samples) {
  std::map<std::string, int64_t> prices;
  for (const Task& task : graph.tasks) prices[task.layer] += price_of(task, costs, samples);
  return prices;
}

// By value: whether a trained parameter is upstream, so that a gradient passes.
IdVector<ValueId, bool> find_differentiated(const Network& network) {
  IdVector<ValueId, bool> differentiated(network.values.size(), false);
  for (const ValueId id : ids_of(network.values))
    differentiated[id] = network.values[id].kind == ValueKind::parameter && network.values[id].trainable;
  for (const Node& node : network.nodes) {
    const bool any =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return v.valid() && differentiated[v]; });
    for (const ValueId output : node.outputs)
      if (any && output.valid()) differentiated[output] = true;
  }
  return differentiated;
}

// Reorders in both directions, each including the reorder of the gradient.
struct ReorderPrices {
  int64_t to_last = 0, to_plain = 0;
};

class Chooser {
 public:
  Chooser(const Network& network, const TaskGraph& reorders, const Costs& costs, int64_t samples)
      : network_(network),
        differentiated_(find_differentiated(network)),
        maker_(network.values.size()),
        readers_(network.values.size()) {
    for (const Task& task : reorders.tasks) {
      const TensorType& read = task.operands[0].type;
      ReorderPrices& prices = reorder_[to_string(in_layout(read, Layout::plain))];
      (read.layout == Layout::plain ? prices.to_last : prices.to_plain) = price_of(task, costs, samples);
    }
    for (const NodeId id : ids_of(network.nodes)) {
      for (const ValueId output : network.nodes[id].outputs)
        if (is_image(network, output)) maker_[output] = id;
      for (const ValueId input : network.nodes[id].inputs)
        if (input.valid()) readers_[input].push_back(id);
    }
  }

  void choose(const IdVector<NodeId, bool>& can_be_last, const std::map<std::string, int64_t>& plain,
              const std::map<std::string, int64_t>& last, LayoutChoice& choice) {
    const auto of = [](const std::map<std::string, int64_t>& prices, const Node& node) {
      const auto found = prices.find(layer_name(node));
      return found == prices.end() ? 0 : found->second;
    };
    for (const NodeId id : ids_of(network_.nodes)) {
      const Node& node = network_.nodes[id];
      const int64_t in_plain = of(plain, node);
      labels_.add(in_plain, can_be_last[id] ? of(last, node) : TwoLabels::kNever);
    }
    outside_ = labels_.add(0, TwoLabels::kNever);
    for (const ValueId id : ids_of(network_.values)) {
      join_readers_of_weight(id);
      add_reorders_of(id);
    }
    const std::vector<bool> is_last = labels_.cheapest();
    choice.last = IdVector<NodeId, bool>(network_.nodes.size(), false);
    for (const NodeId id : ids_of(network_.nodes)) choice.last[id] = is_last[static_cast<size_t>(id.value)];
  }

  // The cost of the reorders for the labels `last`; the number of values that exist in both layouts.
  std::pair<int64_t, size_t> reorders_of(const IdVector<NodeId, bool>& last) const {
    int64_t sum = 0;
    size_t count = 0;
    for (const ValueId id : ids_of(network_.values)) {
      if (!is_image(network_.values[id])) continue;
      const bool made_last = maker_[id].valid() && last[maker_[id]];
      bool disagrees = made_last && is_output(id);
      for (const NodeId reader : readers_[id]) disagrees = disagrees || last[reader] != made_last;
      if (!disagrees || is_same_bytes(network_.values[id].type)) continue;
      const ReorderPrices prices = prices_of(id);
      sum += made_last ? prices.to_plain : prices.to_last;
      ++count;
    }
    return {sum, count};
  }

 private:
  static size_t thing(NodeId id) { return static_cast<size_t>(id.value); }

  bool is_output(ValueId id) const {
    return std::find(network_.outputs.begin(), network_.outputs.end(), id) != network_.outputs.end();
  }

  // Zero if both layouts have the same bytes, or if no node could choose the other layout.
  ReorderPrices prices_of(ValueId id) const {
    const TensorType& type = network_.values[id].type;
    const auto found = reorder_.find(to_string(type));
    if (found == reorder_.end() || is_same_bytes(type)) return {};
    const ReorderPrices& once = found->second;
    if (!differentiated_[id]) return once;
    return {once.to_last + once.to_plain, once.to_plain + once.to_last};
  }

  // All readers of a weight use one layout.
  void join_readers_of_weight(ValueId id) {
    const Value& value = network_.values[id];
    if (value.kind != ValueKind::parameter || value.type.rank() != 4) return;
    for (size_t i = 1; i < readers_[id].size(); ++i) {
      const size_t a = thing(readers_[id][i - 1]), b = thing(readers_[id][i]);
      if (a == b) continue;
      labels_.add_disagreement(a, b, TwoLabels::kNever);
      labels_.add_disagreement(b, a, TwoLabels::kNever);
    }
  }

  // One copy serves all readers that need it: it is B as soon as one of them is (to_last), or A (to_plain).
  void add_reorders_of(ValueId id) {
    if (!is_image(network_.values[id])) return;
    const ReorderPrices prices = prices_of(id);
    const size_t maker = maker_[id].valid() ? thing(maker_[id]) : outside_;
    if (prices.to_last > 0 && !readers_[id].empty()) {
      const size_t copy = labels_.add();
      labels_.add_disagreement(maker, copy, prices.to_last);
      for (const NodeId reader : readers_[id]) labels_.add_disagreement(copy, thing(reader), TwoLabels::kNever);
    }
    if (prices.to_plain > 0 && (!readers_[id].empty() || is_output(id))) {
      const size_t copy = labels_.add();
      labels_.add_disagreement(copy, maker, prices.to_plain);
      for (const NodeId reader : readers_[id]) labels_.add_disagreement(thing(reader), copy, TwoLabels::kNever);
      if (is_output(id)) labels_.add_disagreement(outside_, copy, TwoLabels::kNever);
    }
  }

  const Network& network_;
  const IdVector<ValueId, bool> differentiated_;
  IdVector<ValueId, NodeId> maker_;
  IdVector<ValueId, std::vector<NodeId>> readers_;
  std::map<std::string, ReorderPrices> reorder_;  // keyed by the plain type's text
  TwoLabels labels_;
  size_t outside_ = 0;  // represents the inputs and outputs of the network, which are plain
};

}  // namespace

Result<std::vector<TaskGraph>> graphs_of_layouts(const Network& network, const TrainingOptions& options) {
  const AllLast last(network);
  std::vector<TaskGraph> graphs;
  PLIMSOLL_ASSIGN(TaskGraph plain, build_task_graph(network, options));
  graphs.push_back(std::move(plain));
  PLIMSOLL_ASSIGN(TaskGraph all_last, build_task_graph(last.network, options));
  graphs.push_back(std::move(all_last));
  graphs.push_back(graph_of_reorders(network, last.last, options.batch));
  return graphs;
}

Result<LayoutChoice> choose_layouts(const Network& network, const TrainingOptions& options, Costs& costs,
                                    int64_t samples, bool in_rounds) {
  PLIMSOLL_ASSIGN(std::vector<TaskGraph> graphs, graphs_of_layouts(network, options));
  for (TaskGraph& graph : graphs) {
    if (in_rounds) graph = accumulating(std::move(graph));
    PLIMSOLL_TRY(costs.prepare(graph, samples));
  }
  const IdVector<NodeId, bool> can_be_last = AllLast(network).last;
  const auto plain = prices_of_nodes(graphs[0], costs, samples), last = prices_of_nodes(graphs[1], costs, samples);
  Chooser chooser(network, graphs[2], costs, samples);
  LayoutChoice choice;
  chooser.choose(can_be_last, plain, last, choice);

  for (const NodeId id : ids_of(network.nodes)) {
    const Node& node = network.nodes[id];
    const bool touches_images =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return is_image(network, v); });
    if (touches_images && can_be_last[id]) ++choice.nodes;
    if (touches_images && choice.last[id]) ++choice.nodes_last;
  }
  const auto sum_of = [&](const IdVector<NodeId, bool>& labels) {
    int64_t sum = chooser.reorders_of(labels).first;
    for (const NodeId id : ids_of(network.nodes)) {
      const auto& prices = labels[id] ? last : plain;
      if (const auto found = prices.find(network.nodes[id].name); found != prices.end()) sum += found->second;
    }
    return seconds_of(sum);
  };
  choice.plain_seconds = sum_of(IdVector<NodeId, bool>(network.nodes.size(), false));
  choice.last_seconds = sum_of(can_be_last);
  choice.seconds = sum_of(choice.last);
  choice.reorders = chooser.reorders_of(choice.last).second;
  return choice;
}

}  // namespace plimsoll
