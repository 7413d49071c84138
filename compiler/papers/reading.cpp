#include "compiler/papers/reading.h"

#include <algorithm>

#include "compiler/ops/node_view.h"

namespace plimsoll {
namespace {

constexpr std::string_view kViews[] = {"Flatten", "Reshape", "Identity", "Squeeze", "Unsqueeze"};

bool is_view(const Node& node) { return std::find(std::begin(kViews), std::end(kViews), node.op) != std::end(kViews); }

bool is_loss(const Node& node) { return node.op == "SoftmaxCrossEntropyLoss"; }

bool is_data(const Network& network, ValueId value) {
  if (!value.valid()) return false;
  const ValueKind kind = network.values[value].kind;
  return kind == ValueKind::intermediate || kind == ValueKind::input;
}

// Two operations per multiply-add of a layer with a matrix or filters; one per element for others.
Affine flops_of(const Network& network, const Node& node) {
  const Affine elements = network.values[node.outputs[0]].type.elements();
  if (node.inputs.size() < 2 || !node.inputs[1].valid()) return elements;
  const Value& weights = network.values[node.inputs[1]];
  if (weights.kind != ValueKind::parameter || weights.type.rank() < 2) return elements;
  const bool columns = node.op == "MatMul" || (node.op == "Gemm" && NodeView(network, node).integer("transB", 0) == 0);
  const int64_t outputs = weights.type.dims[columns ? 1 : 0].value;
  const int64_t each = 2 * weights.type.elements().fixed / std::max<int64_t>(outputs, 1);
  return {elements.fixed * each, elements.per_sample * each};
}

IdVector<NodeId, bool> find_needed(const Network& network) {
  IdVector<NodeId, bool> needed(network.nodes.size(), false);
  IdVector<ValueId, bool> wanted(network.values.size(), false);
  wanted[network.outputs[0]] = true;
  for (size_t i = network.nodes.size(); i-- > 0;) {
    const NodeId id(static_cast<int64_t>(i));
    const Node& node = network.nodes[id];
    needed[id] =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId y) { return y.valid() && wanted[y]; });
    if (!needed[id]) continue;
    for (const ValueId input : node.inputs)
      if (input.valid()) wanted[input] = true;
  }
  return needed;
}

}  // namespace

Result<ReadNetwork> read_network(const Network& network, std::string_view whose,
                                 std::span<const std::string_view> known) {
  if (network.outputs.empty()) return Error{ExitCode::invalid_model, "the model has no output"};
  ReadNetwork read{.root = IdVector<ValueId, ValueId>(network.values.size())};
  for (const ValueId value : ids_of(network.values)) read.root[value] = value;
  const IdVector<NodeId, bool> needed = find_needed(network);
  Error unknown{ExitCode::unsupported, "the rules of " + std::string(whose) + " do not cover some operators"};
  std::vector<std::string_view> named;
  for (const NodeId id : ids_of(network.nodes)) {
    const Node& node = network.nodes[id];
    if (!needed[id]) continue;
    ReadLayer layer{.name = node.name, .op = node.op};
    for (const ValueId input : node.inputs) {
      if (input.valid() && network.values[input].kind == ValueKind::parameter) layer.parameters.push_back(input);
      const bool labels = is_loss(node) && !layer.x.empty();
      if (!is_data(network, input) || labels) continue;
      layer.x.push_back(read.root[input]);
      layer.x_types.push_back(network.values[input].type);
    }
    if (is_view(node) && !layer.x.empty()) {
      read.root[node.outputs[0]] = layer.x[0];
      continue;
    }
    if (std::find(known.begin(), known.end(), node.op) == known.end() || layer.x.empty()) {
      if (std::find(named.begin(), named.end(), node.op) != named.end()) continue;
      named.push_back(node.op);
      unknown.notes.push_back(NodeView(network, node).describe());
      continue;
    }
    for (const ValueId output : node.outputs)
      if (output.valid()) layer.y.push_back(output);
    if (is_loss(node)) layer.y = {ValueId()};
    layer.flops = flops_of(network, node);
    read.layers.push_back(std::move(layer));
  }
  if (!unknown.notes.empty()) return unknown;
  if (read.layers.empty()) return Error{ExitCode::invalid_model, "the model has no layers"};
  if (!is_softmax(read.layers.back())) {
    const ValueId scores = read.root[network.outputs[0]];
    const TensorType& type = network.values[scores].type;
    read.layers.push_back({.name = "softmax", .op = "Softmax", .x = {scores}, .x_types = {type}, .y = {ValueId()},
                           .flops = type.elements()});
  }
  for (const ValueId value : network.inputs)
    if (!read.images.valid()) read.images = value;
  return read;
}

RuleGraph::RuleGraph(const Network& network, int64_t batch)
    : graph{.name = network.name, .batch = batch}, network_(network), weight_(network.values.size()),
      weight_gradient_(network.values.size()) {}

TensorId RuleGraph::tensor(const std::string& name, TensorKind kind, const TensorType& type) {
  std::string unique = name;
  while (names_.count(unique) > 0) unique = name + "." + std::to_string(++names_[name]);
  names_.emplace(unique, 0);
  return graph.tensors.push_back({.name = std::move(unique), .kind = kind, .type = type});
}

Task RuleGraph::task(const ReadLayer& layer, std::string_view what, std::string_view op, TaskKind kind) const {
  return {.name = layer.name + "." + std::string(what),
          .op = std::string(op),
          .kind = kind,
          .layer = layer.name,
          .kernel = std::string(op),
          .flops = layer.flops};
}

void RuleGraph::use(Task& task, TensorId tensor, Access access) const {
  if (tensor.valid()) task.operands.push_back({tensor, access, graph.tensors[tensor].type});
}

void RuleGraph::use_parameters(Task& task, const ReadLayer& layer, bool backward) {
  for (const ValueId parameter : layer.parameters) {
    if (!weight_[parameter].valid()) {
      const Value& value = network_.values[parameter];
      weight_[parameter] = tensor(value.name, TensorKind::weight, value.type);
      weight_gradient_[parameter] = tensor("d" + value.name, TensorKind::weight_gradient, value.type);
      graph.tensors[weight_[parameter]].persistent = graph.tensors[weight_gradient_[parameter]].persistent = true;
    }
    use(task, weight_[parameter], Access::read);
    if (backward) use(task, weight_gradient_[parameter], Access::update);
  }
}

int64_t bytes_of(const Plan& plan, TensorKind kind) {
  int64_t bytes = 0;
  for (const PlanTensor& tensor : plan.tensors)
    if (tensor.kind == kind) bytes += tensor.bytes;
  return bytes;
}

int64_t largest_of(const Plan& plan, TensorKind kind) {
  int64_t bytes = 0;
  for (const PlanTensor& tensor : plan.tensors)
    if (tensor.kind == kind) bytes = std::max(bytes, tensor.bytes);
  return bytes;
}

Status RooflineCosts::prepare(const TaskGraph& graph, int64_t samples) {
  for (const Task& task : graph.tasks) {
    const double arithmetic = static_cast<double>(task.flops.at(samples)) / rates_.flops_per_second;
    const double traffic = static_cast<double>(task.bytes_moved(samples)) / rates_.bytes_per_second;
    costs_[{task.name, samples}] = {.name = "modelled", .seconds = std::max(arithmetic, traffic)};
  }
  return {};
}

std::span<const AlgorithmCost> RooflineCosts::algorithms(const Task& task, int64_t samples) const {
  const auto found = costs_.find({task.name, samples});
  PLIMSOLL_CHECK(found != costs_.end(), "costs of task '" + task.name + "' were not prepared");
  return {&found->second, 1};
}

}  // namespace plimsoll
