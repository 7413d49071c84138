#include "compiler/papers/superneurons.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "compiler/ops/node_view.h"

namespace plimsoll {
namespace {

enum class Layer { conv, fc, act, lrn, pool, bn, dropout, softmax, fork, join, concat };

std::string_view to_string(Layer layer) {
  constexpr std::array<std::string_view, 11> names = {"CONV",    "FC",   "ACT",  "LRN",   "POOL", "BN", "DROPOUT",
                                                      "SOFTMAX", "FORK", "JOIN", "CONCAT"};
  return names[static_cast<size_t>(layer)];
}

// The paper's name for an operator. Reshaping is not a layer: its output is its input (alias).
struct SuperNeuronsMeaning {
  std::string_view op;
  Layer layer = Layer::act;
  bool alias = false;
};

constexpr SuperNeuronsMeaning kSuperNeuronsMeanings[] = {{"Conv", Layer::conv},
                                 {"ConvTranspose", Layer::conv},
                                 {"Gemm", Layer::fc},
                                 {"MatMul", Layer::fc},
                                 {"Relu", Layer::act},
                                 {"Clip", Layer::act},
                                 {"Sigmoid", Layer::act},
                                 {"Tanh", Layer::act},
                                 {"LRN", Layer::lrn},
                                 {"MaxPool", Layer::pool},
                                 {"AveragePool", Layer::pool},
                                 {"GlobalAveragePool", Layer::pool},
                                 {"BatchNormalization", Layer::bn},
                                 {"Dropout", Layer::dropout},
                                 {"Softmax", Layer::softmax},
                                 {"SoftmaxCrossEntropyLoss", Layer::softmax},
                                 {"Add", Layer::join},
                                 {"Sum", Layer::join},
                                 {"Concat", Layer::concat},
                                 {"Flatten", {}, true},
                                 {"Reshape", {}, true},
                                 {"Identity", {}, true},
                                 {"Squeeze", {}, true},
                                 {"Unsqueeze", {}, true}};

const SuperNeuronsMeaning* meaning_of(const Node& node) {
  const auto* found = std::find_if(std::begin(kSuperNeuronsMeanings), std::end(kSuperNeuronsMeanings),
                                   [&](const SuperNeuronsMeaning& meaning) { return meaning.op == node.op; });
  return found == std::end(kSuperNeuronsMeanings) ? nullptr : found;
}

// A layer of the paper over the network's values: x → y. A FORK has several y; a JOIN or CONCAT has several x.
struct PaperLayer {
  Layer kind;
  std::string name;
  std::vector<TensorId> x;  // invalid: the images
  std::vector<TensorId> y;
  std::vector<TensorType> x_types;
  Affine flops;
};

class SuperNeuronsBuilder {
 public:
  SuperNeuronsBuilder(const Network& network, int64_t batch)
      : network_(network), root_(network.values.size()), consumers_(network.values.size(), 0),
        next_copy_(network.values.size(), 0), copies_(network.values.size()), needed_(network.nodes.size(), false) {
    graph_.name = network.name;
    graph_.batch = batch;
  }

  Result<TaskGraph> run() {
    PLIMSOLL_TRY(survey());
    for (const NodeId id : ids_of(network_.nodes))
      if (needed_[id]) forward(network_.nodes[id]);
    if (!ends_in_softmax()) softmax(root_[network_.outputs.at(0)], "softmax");
    for (size_t i = layers_.size(); i-- > 0;) backward(layers_[i]);
    return std::move(graph_);
  }

 private:
  bool is_data(ValueId value) const {
    if (!value.valid()) return false;
    const ValueKind kind = network_.values[value].kind;
    return kind == ValueKind::intermediate || kind == ValueKind::input;
  }

  // A node's data operands. Weights and constants are not counted, and labels are not activations.
  std::vector<ValueId> data_of(const Node& node) const {
    const bool first_only = node.op == "SoftmaxCrossEntropyLoss" || meaning_of(node)->alias;
    std::vector<ValueId> data;
    for (const ValueId input : node.inputs)
      if (is_data(input) && (!first_only || data.empty())) data.push_back(root_[input]);
    return data;
  }

  bool ends_in_softmax() const { return !layers_.empty() && layers_.back().kind == Layer::softmax; }

  // One note per operator, with its first node.
  Error refused(const std::vector<const Node*>& unknown) const {
    Error error{ExitCode::unsupported,
                "the rules of SuperNeurons do not cover " + std::to_string(unknown.size()) + " of the nodes"};
    std::vector<std::string> listed;
    for (auto node = unknown.rbegin(); node != unknown.rend(); ++node) {
      if (std::find(listed.begin(), listed.end(), (*node)->op) != listed.end()) continue;
      listed.push_back((*node)->op);
      const auto count = std::count_if(unknown.begin(), unknown.end(),
                                       [&](const Node* other) { return other->op == (*node)->op; });
      error.notes.push_back(NodeView(network_, **node).describe() +
                            (count > 1 ? " and " + std::to_string(count - 1) + " more of them" : ""));
    }
    return error;
  }

  // Finds the nodes that the first output needs, the value behind each alias, and the number of layers that read each
  // value.
  Status survey() {
    std::vector<const Node*> unknown;  // last node first
    for (const ValueId value : ids_of(network_.values)) root_[value] = value;
    if (network_.outputs.empty()) return Error{ExitCode::invalid_model, "the model has no output"};
    IdVector<ValueId, bool> wanted(network_.values.size(), false);
    wanted[network_.outputs[0]] = true;
    const std::vector<NodeId> order = ids_of(network_.nodes);
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      const Node& node = network_.nodes[*id];
      needed_[*id] = std::any_of(node.outputs.begin(), node.outputs.end(),
                                 [&](ValueId output) { return output.valid() && wanted[output]; });
      if (!needed_[*id]) continue;
      if (meaning_of(node) == nullptr || !node.outputs[0].valid())
        unknown.push_back(&node);
      for (const ValueId input : node.inputs)
        if (is_data(input)) wanted[input] = true;
    }
    if (!unknown.empty()) return refused(unknown);
    for (const NodeId id : order) {
      if (!needed_[id]) continue;
      const Node& node = network_.nodes[id];
      const std::vector<ValueId> data = data_of(node);
      if (data.empty())
        return NodeView(network_, node).unsupported("reads weights only, which these rules do not count");
      if (meaning_of(node)->alias) {
        root_[node.outputs[0]] = data[0];
      } else {
        for (const ValueId input : data) ++consumers_[input];
      }
    }
    return {};
  }

  TensorId add_tensor(const std::string& name, TensorKind kind, const TensorType& type) {
    std::string unique = name;
    for (int& taken = names_[name]; taken++ > 0 && names_.count(unique) > 0;)
      unique = name + "." + std::to_string(taken);
    names_.try_emplace(unique, 1);
    graph_.tensors.push_back({.name = std::move(unique), .kind = kind, .type = type});
    gradient_.push_back({});
    return TensorId(static_cast<int64_t>(graph_.tensors.size()) - 1);
  }

  // The tensor for the next layer that reads `value`. Each reader of a forked value gets its own copy.
  TensorId next_reader(ValueId value) {
    if (copies_[value].empty()) return {};  // the images
    const size_t copy = std::min<size_t>(static_cast<size_t>(next_copy_[value]++), copies_[value].size() - 1);
    return copies_[value][copy];
  }

  void emit(PaperLayer layer) {
    Task task{.name = layer.name + ".forward",
              .op = std::string(to_string(layer.kind)),
              .kind = TaskKind::forward,
              .layer = layer.name,
              .kernel = std::string(to_string(layer.kind)),
              .flops = layer.flops};
    for (const TensorId x : layer.x) add_operand(task, x, Access::read);
    for (const TensorId y : layer.y) add_operand(task, y, Access::write);
    graph_.tasks.push_back(std::move(task));
    layers_.push_back(std::move(layer));
  }

  void add_operand(Task& task, TensorId tensor, Access access) {
    if (tensor.valid()) task.operands.push_back({tensor, access, graph_.tensors[tensor].type});
  }

  void forward(const Node& node) {
    const SuperNeuronsMeaning& meaning = *meaning_of(node);
    if (meaning.alias) return;
    if (meaning.layer == Layer::softmax) return softmax(data_of(node)[0], node.name);
    const ValueId output = node.outputs[0];
    const TensorType& type = network_.values[output].type;
    PaperLayer layer{.kind = meaning.layer, .name = node.name, .x = {}, .y = {}, .x_types = {}, .flops = flops(node)};
    for (const ValueId input : data_of(node)) {
      layer.x.push_back(next_reader(input));
      layer.x_types.push_back(network_.values[input].type);
    }
    layer.y = {add_tensor(node.name + ".Y", TensorKind::activation, type)};
    copies_[output] = layer.y;
    const TensorId y = layer.y[0];
    emit(std::move(layer));
    if (consumers_[output] > 1) fork(node.name + ".fork", output, y);
  }

  void fork(const std::string& name, ValueId value, TensorId x) {
    const TensorType& type = network_.values[value].type;
    PaperLayer layer{.kind = Layer::fork, .name = name, .x = {x}, .y = {}, .x_types = {type}, .flops = {}};
    for (int32_t branch = 0; branch < consumers_[value]; ++branch)
      layer.y.push_back(add_tensor(name + ".Y", TensorKind::activation, type));
    copies_[value] = layer.y;
    emit(std::move(layer));
  }

  void softmax(ValueId scores, const std::string& name) {
    const TensorType& type = network_.values[scores].type;
    const TensorId x = next_reader(scores);
    emit({.kind = Layer::softmax,
          .name = name,
          .x = {x},
          .y = {add_tensor(name + ".Y", TensorKind::activation, type)},
          .x_types = {type},
          .flops = type.elements()});
  }

  // Two operations per multiply-add of a layer with weights; one per element for others.
  Affine flops(const Node& node) const {
    Affine elements = network_.values[node.outputs[0]].type.elements();
    if (node.inputs.size() < 2 || !node.inputs[1].valid()) return elements;
    const TensorType& weights = network_.values[node.inputs[1]].type;
    if (network_.values[node.inputs[1]].kind != ValueKind::parameter || weights.rank() < 2) return elements;
    int64_t outputs = weights.dims[0].value;
    if (node.op == "MatMul" || (node.op == "Gemm" && NodeView(network_, node).integer("transB", 0) == 0))
      outputs = weights.dims[1].value;
    const int64_t each = 2 * weights.elements().fixed / std::max<int64_t>(outputs, 1);
    return {elements.fixed * each, elements.per_sample * each};
  }

  // Before: every y of the layer has its gradient, because every value reaches the softmax. After: so does every x.
  void backward(const PaperLayer& layer) {
    Task task{.name = layer.name + ".backward",
              .op = std::string(to_string(layer.kind)),
              .kind = TaskKind::backward,
              .layer = layer.name,
              .kernel = std::string(to_string(layer.kind)),
              .flops = layer.flops};
    const TensorId dy = layer.kind == Layer::softmax ? layer.y[0] : gradient_[layer.y[0]];
    const auto write_gradient = [&](size_t i) {
      const TensorId dx = add_tensor(layer.name + ".dX", TensorKind::activation_gradient, layer.x_types[i]);
      add_operand(task, dx, Access::write);
      if (layer.x[i].valid()) gradient_[layer.x[i]] = dx;
    };
    const auto pass = [&](TensorId gradient) {
      if (layer.x[0].valid()) gradient_[layer.x[0]] = gradient;
    };
    switch (layer.kind) {
      case Layer::conv:
      case Layer::fc:
        // A product of two activations has several x, each with a gradient.
        for (const TensorId x : layer.x) add_operand(task, x, Access::read);
        add_operand(task, dy, Access::read);
        for (size_t i = 0; i < layer.x.size(); ++i) write_gradient(i);
        break;
      case Layer::bn:
        add_operand(task, layer.x[0], Access::read);
        add_operand(task, dy, Access::read);
        write_gradient(0);
        break;
      case Layer::pool:
        add_operand(task, layer.x[0], Access::read);
        add_operand(task, layer.y[0], Access::read);
        add_operand(task, dy, Access::read);
        write_gradient(0);
        break;
      case Layer::dropout:
      case Layer::concat:
        add_operand(task, dy, Access::read);
        for (size_t i = 0; i < layer.x.size(); ++i) write_gradient(i);
        break;
      case Layer::join:
        add_operand(task, dy, Access::read);
        for (size_t i = 1; i < layer.x.size(); ++i) write_gradient(i);
        pass(dy);
        break;
      case Layer::act:
      case Layer::lrn:
        add_operand(task, layer.x[0], Access::read);
        add_operand(task, layer.y[0], Access::read);
        add_operand(task, dy, Access::read);
        // The dx of an LRN overwrites dy, but the paper counts it with the layer as if it were separate.
        if (layer.kind == Layer::lrn) add_operand(task, dy, Access::read);
        pass(dy);
        break;
      case Layer::softmax:
        add_operand(task, layer.x[0], Access::read);
        add_operand(task, dy, Access::read);
        pass(dy);
        break;
      case Layer::fork:
        add_operand(task, dy, Access::read);
        for (size_t i = 1; i < layer.y.size(); ++i) add_operand(task, gradient_[layer.y[i]], Access::read);
        pass(dy);
        break;
    }
    graph_.tasks.push_back(std::move(task));
  }

  const Network& network_;
  TaskGraph graph_;
  std::vector<PaperLayer> layers_;
  IdVector<ValueId, ValueId> root_;              // the value behind an alias
  IdVector<ValueId, int32_t> consumers_;
  IdVector<ValueId, int32_t> next_copy_;
  IdVector<ValueId, std::vector<TensorId>> copies_;  // tensors that layers read for a value; empty: the images
  IdVector<NodeId, bool> needed_;
  IdVector<TensorId, TensorId> gradient_;
  std::map<std::string, int> names_;
};

// The paper's number of each step, from 1. A recomputation has the number of the step that it serves.
std::vector<int64_t> numbers_of(const Plan& plan) {
  std::vector<int64_t> numbers(plan.steps.size(), 0);
  int64_t next = static_cast<int64_t>(plan.tasks.size());
  for (size_t i = plan.steps.size(); i-- > 0;) {
    const Step& step = plan.steps[StepId(static_cast<int64_t>(i))];
    if (step.kind == StepKind::compute && !step.recompute) next = step.task.value + 1;
    numbers[i] = next;
  }
  return numbers;
}

}  // namespace

Result<TaskGraph> superneurons_graph(const Network& network, int64_t batch) {
  return SuperNeuronsBuilder(network, batch).run();
}

SuperNeuronsFigures superneurons_figures(const Plan& plan) {
  SuperNeuronsFigures figures{.layers = static_cast<int64_t>(plan.tasks.size()) / 2,
                              .tensors = static_cast<int64_t>(plan.tensors.size())};
  for (const PlanTensor& tensor : plan.tensors) figures.network_wide_bytes += tensor.bytes;

  const size_t count = plan.steps.size();
  std::vector<int64_t> bytes(count + 1, 0), live(count + 1, 0);  // differences between consecutive steps
  for (const Residency& residency : plan.residencies) {
    const size_t first = static_cast<size_t>(std::max<int32_t>(residency.first_step, 0));
    const size_t last = std::min(static_cast<size_t>(residency.last_step), count - 1);
    const int64_t size = plan.tensors[residency.tensor].bytes;
    bytes[first] += size;
    live[first] += 1;
    bytes[last + 1] -= size;
    live[last + 1] -= 1;
  }
  const std::vector<int64_t> numbers = numbers_of(plan);
  int64_t bytes_now = 0, live_now = 0;
  for (size_t i = 0; i < count; ++i) {
    bytes_now += bytes[i];
    live_now += live[i];
    figures.most_live_tensors = std::max(figures.most_live_tensors, live_now);
    if (bytes_now <= figures.peak_bytes) continue;
    figures.peak_bytes = bytes_now;
    figures.peak_step = numbers[i];
    figures.peak_live_tensors = live_now;
  }

  for (const PlanTask& task : plan.tasks) {
    int64_t distinct = 0;
    for (const std::vector<TensorId>* touched : {&task.reads, &task.writes})
      for (const TensorId tensor : *touched) distinct += plan.tensors[tensor].bytes;
    figures.largest_layer_bytes = std::max(figures.largest_layer_bytes, task.bytes_moved);  // over all slots
    figures.largest_layer_distinct_bytes = std::max(figures.largest_layer_distinct_bytes, distinct);
  }
  return figures;
}

void count_as_superneurons(Plan& plan) {
  const SuperNeuronsFigures figures = superneurons_figures(plan);
  plan.rules = "superneurons";
  plan.summary.network_wide_bytes = figures.network_wide_bytes;
  plan.summary.live_bytes = figures.peak_bytes;
  plan.summary.peak_step = figures.peak_step;
  plan.summary.peak_live_tensors = figures.peak_live_tensors;
}

Status SuperNeuronsCosts::prepare(const TaskGraph& graph, int64_t samples) {
  constexpr double flops_per_second = 4.29e12, bytes_per_second = 288e9;  // data sheet of the K40c
  for (const Task& task : graph.tasks) {
    const double seconds = std::max(static_cast<double>(task.flops.at(samples)) / flops_per_second,
                                    static_cast<double>(task.bytes_moved(samples)) / bytes_per_second);
    costs_[{task.name, samples}] = {.name = "modelled", .seconds = seconds};
  }
  return {};
}

std::span<const AlgorithmCost> SuperNeuronsCosts::algorithms(const Task& task, int64_t samples) const {
  const auto found = costs_.find({task.name, samples});
  PLIMSOLL_CHECK(found != costs_.end(), "costs of task '" + task.name + "' were not prepared");
  return {&found->second, 1};
}

}  // namespace plimsoll
