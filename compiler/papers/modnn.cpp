#include "compiler/papers/modnn.h"

#include <algorithm>
#include <map>

#include "compiler/papers/superneurons.h"

namespace plimsoll {
namespace {

bool has_weights(const std::string& layer) { return layer == "CONV" || layer == "FC" || layer == "BN"; }

class ModnnBuilder {
 public:
  ModnnBuilder(const Network& network, const TaskGraph& layers, ModnnRelu relu)
      : network_(network), layers_(layers), relu_(relu), block_(layers.tensors.size()) {
    graph_.name = network.name;
    graph_.batch = layers.batch;
    for (const Node& node : network.nodes) nodes_.emplace(node.name, &node);
  }

  TaskGraph run() {
    images_ = add("images", TensorKind::input, network_.values[network_.inputs.at(0)].type);
    graph_.inputs = {images_};
    for (const Task& layer : layers_.tasks)
      if (layer.kind == TaskKind::forward) forward(layer);
    TensorId logits = graph_.tasks.back().writes().at(0);
    Task loss{.name = "loss", .op = "LOSS", .kind = TaskKind::loss, .layer = "loss", .kernel = "LOSS"};
    operand(loss, logits, Access::read);
    gradient_to(loss, logits);
    graph_.tasks.push_back(std::move(loss));
    for (auto layer = kept_.rbegin(); layer != kept_.rend(); ++layer) backward(*layer);
    return std::move(graph_);
  }

 private:
  struct Layer {
    const Task* task;
    std::vector<TensorId> x;
    TensorId y;
    std::vector<TensorId> weights, gradients;
  };

  TensorId add(const std::string& name, TensorKind kind, const TensorType& type, bool persistent = false) {
    gradient_.push_back({});
    return graph_.tensors.push_back({.name = name, .kind = kind, .type = type, .persistent = persistent});
  }
  void operand(Task& task, TensorId tensor, Access access) {
    for (const Operand& each : task.operands)
      if (each.tensor == tensor && each.access == access) return;
    task.operands.push_back({tensor, access, graph_.tensors[tensor].type});
  }

  // The blocks that a layer reads; the images have no operand there.
  std::vector<TensorId> blocks_read(const Task& layer) const {
    std::vector<TensorId> blocks;
    for (const TensorId x : layer.reads()) blocks.push_back(block_[x]);
    if (blocks.empty()) blocks.push_back(images_);
    return blocks;
  }

  void forward(const Task& task) {
    const std::vector<TensorId> written = task.writes();
    Layer layer{.task = &task, .x = blocks_read(task), .y = {}, .weights = {}, .gradients = {}};
    const bool in_place =
        task.op == "FORK" || task.op == "DROPOUT" || (task.op == "ACT" && relu_ == ModnnRelu::in_place);
    if (in_place)
      for (const TensorId y : written) block_[y] = layer.x[0];
    if (in_place || task.op == "SOFTMAX") return;
    layer.y = add(layers_.tensors[written.at(0)].name, TensorKind::activation, layers_.tensors[written[0]].type);
    block_[written[0]] = layer.y;
    if (has_weights(task.op)) add_weights(layer);
    Task fp{.name = task.layer + ".FP",
            .op = task.op,
            .kind = TaskKind::forward,
            .layer = task.layer,
            .kernel = task.op,
            .flops = task.flops};
    for (const TensorId x : layer.x) operand(fp, x, Access::read);
    for (const TensorId weight : layer.weights) operand(fp, weight, Access::read);
    operand(fp, layer.y, Access::write);
    graph_.tasks.push_back(std::move(fp));
    kept_.push_back(std::move(layer));
  }

  void add_weights(Layer& layer) {
    for (const ValueId input : nodes_.at(layer.task->layer)->inputs) {
      if (!input.valid() || network_.values[input].kind != ValueKind::parameter) continue;
      if (const auto known = weights_.find(input); known != weights_.end()) {
        layer.weights.push_back(known->second.first);
        layer.gradients.push_back(known->second.second);
        continue;
      }
      const Value& value = network_.values[input];
      layer.weights.push_back(add(value.name, TensorKind::weight, value.type, true));
      layer.gradients.push_back(add("d" + value.name, TensorKind::weight_gradient, value.type, true));
      weights_.emplace(input, std::pair(layer.weights.back(), layer.gradients.back()));
    }
  }

  void gradient_to(Task& task, TensorId block) {
    if (block == images_) return;
    if (gradient_[block].valid()) return operand(task, gradient_[block], Access::read);
    const TensorId delta =
        add("d" + graph_.tensors[block].name, TensorKind::activation_gradient, graph_.tensors[block].type);
    gradient_[block] = delta;
    operand(task, delta, Access::write);
  }

  void backward(const Layer& layer) {
    const std::string& op = layer.task->op;
    const TensorId dy = gradient_[layer.y];
    if (std::any_of(layer.x.begin(), layer.x.end(), [&](TensorId x) { return x != images_; })) {
      Task bp1{.name = layer.task->layer + ".BP1",
               .op = op,
               .kind = TaskKind::backward_data,
               .layer = layer.task->layer,
               .kernel = op,
               .flops = layer.task->flops};
      operand(bp1, dy, Access::read);
      for (const TensorId weight : layer.weights) operand(bp1, weight, Access::read);
      if (op != "JOIN" && op != "CONCAT" && op != "ACT")
        for (const TensorId x : layer.x) operand(bp1, x, Access::read);
      if (op == "ACT" || op == "POOL" || op == "LRN") operand(bp1, layer.y, Access::read);
      for (const TensorId x : layer.x) gradient_to(bp1, x);
      graph_.tasks.push_back(std::move(bp1));
    }
    if (layer.weights.empty()) return;
    Task bp2{.name = layer.task->layer + ".BP2",
             .op = op,
             .kind = TaskKind::backward_weights,
             .layer = layer.task->layer,
             .kernel = op,
             .flops = layer.task->flops};
    operand(bp2, dy, Access::read);
    for (const TensorId x : layer.x) operand(bp2, x, Access::read);
    for (const TensorId gradient : layer.gradients) operand(bp2, gradient, Access::update);
    graph_.tasks.push_back(std::move(bp2));
  }

  const Network& network_;
  const TaskGraph& layers_;
  const ModnnRelu relu_;
  TaskGraph graph_;
  TensorId images_;
  std::map<std::string, const Node*> nodes_;
  std::map<ValueId, std::pair<TensorId, TensorId>> weights_;
  IdVector<TensorId, TensorId> block_;     // of SuperNeurons' tensors
  IdVector<TensorId, TensorId> gradient_;  // of each block
  std::vector<Layer> kept_;
};

}  // namespace

Result<TaskGraph> modnn_graph(const Network& network, int64_t batch, ModnnRelu relu) {
  PLIMSOLL_ASSIGN(const TaskGraph layers, superneurons_graph(network, batch));
  return ModnnBuilder(network, layers, relu).run();
}

ModnnFigures modnn_figures(const TaskGraph& graph, int64_t batch) {
  ModnnFigures figures;
  int64_t others = 0, gradients = 0, largest_gradient = 0;
  for (const Tensor& tensor : graph.tensors) {
    const int64_t bytes = tensor.bytes(batch);
    if (tensor.kind == TensorKind::weight) figures.weights += bytes;
    if (tensor.persistent) continue;
    (tensor.kind == TensorKind::activation_gradient ? gradients : others) += bytes;
    if (tensor.kind == TensorKind::activation_gradient) largest_gradient = std::max(largest_gradient, bytes);
  }
  figures.all_blocks = 2 * figures.weights + others + gradients;
  figures.two_gradients = 2 * figures.weights + others + 2 * largest_gradient;
  for (const Task& task : graph.tasks) {
    int64_t bytes = 0;
    for (const Operand& operand : task.operands)
      if (!graph.tensors[operand.tensor].persistent) bytes += graph.tensors[operand.tensor].bytes(1);
    figures.largest_task = std::max(figures.largest_task, bytes);
  }
  return figures;
}

void count_as_modnn(Plan& plan, const TaskGraph& graph) {
  plan.rules = "modnn";
  plan.summary.network_wide_bytes = modnn_figures(graph, plan.batch).all_blocks;
}

}  // namespace plimsoll
