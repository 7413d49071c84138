#include "compiler/training/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "compiler/ops/op.h"
#include "compiler/training/prune.h"

namespace plimsoll {
namespace {

// Of scores and the labels of classes.
bool is_class_loss(const Node& node) { return node.op == "SoftmaxCrossEntropyLoss" || node.op == "NegativeLogLikelihoodLoss"; }

bool is_loss(const Node& node) { return is_class_loss(node) || node.op == "MseLoss" || node.op == "BinaryCrossEntropyLoss"; }

std::string unused_name(const Network& network, const std::string& wish) {
  const auto taken = [&](const std::string& name) {
    return std::any_of(network.values.begin(), network.values.end(), [&](const Value& v) { return v.name == name; }) ||
           std::any_of(network.nodes.begin(), network.nodes.end(), [&](const Node& n) { return n.name == name; });
  };
  std::string name = wish;
  for (int i = 2; taken(name); ++i) name = fmt::format("{}/{}", wish, i);
  return name;
}

ValueId add_value(Network& network, const std::string& name, ValueKind kind, TensorType type) {
  return network.values.push_back({.name = unused_name(network, name), .kind = kind, .type = std::move(type)});
}

std::optional<NodeId> maker_of(const Network& network, ValueId value) {
  for (const NodeId id : ids_of(network.nodes)) {
    const std::vector<ValueId>& outputs = network.nodes[id].outputs;
    if (std::find(outputs.begin(), outputs.end(), value) != outputs.end()) return id;
  }
  return std::nullopt;
}

// The loss that the model brings, if one of its outputs is that loss.
std::optional<NodeId> own_loss(const Network& network) {
  for (const NodeId id : ids_of(network.nodes)) {
    const Node& node = network.nodes[id];
    const auto begin = network.outputs.begin(), end = network.outputs.end();
    if (is_loss(node) && std::find(begin, end, node.outputs[0]) != end) return id;
  }
  return std::nullopt;
}

// A network that reads tokens [N, T] and scores [N, T, C], or [T, N, C], scores every one of them.
bool scores_tokens(const Network& network, const TensorType& scores) {
  if (scores.rank() < 3) return false;
  Dims tokens(scores.dims.begin(), scores.dims.end() - 1);
  const auto samples = std::find_if(tokens.begin(), tokens.end(), [](const Dim& dim) { return dim.batch; });
  if (samples != tokens.end()) std::rotate(tokens.begin(), samples, samples + 1);
  return std::any_of(network.inputs.begin(), network.inputs.end(), [&](ValueId id) {
    const TensorType& input = network.values[id].type;
    return (input.type == DataType::i32 || input.type == DataType::i64) && input.dims == tokens;
  });
}

// A Softmax or LogSoftmax over the classes and nothing else.
bool normalises_classes(const Network& network, const Node& node, bool classes_last) {
  if (node.op != "Softmax" && node.op != "LogSoftmax") return false;
  const Dims& dims = network.values[node.outputs[0]].type.dims;
  const int64_t rank = static_cast<int64_t>(dims.size());
  const bool matrix = node.opset < 13;  // all dimensions from the axis on are classes
  int64_t axis = NodeView(network, node).integer("axis", matrix ? 1 : -1);
  if (axis < 0) axis += rank;
  const int64_t classes = classes_last ? rank - 1 : 1;
  return axis == classes && (!matrix || std::all_of(dims.begin() + classes + 1, dims.end(), [](const Dim& dim) { return dim == Dim{1}; }));
}

std::string said_removed(const Network& network, const Node& node) {
  return fmt::format("{} is removed: the loss includes it", NodeView(network, node).describe());
}

// The loss works on scores; what makes probabilities of them would be there twice.
ValueId without_activation(const Network& network, ValueId output, LossKind kind, bool classes_last, std::vector<std::string>& notes) {
  const auto maker = maker_of(network, output);
  if (!maker) return output;
  const Node& node = network.nodes[*maker];
  const bool includes = kind == LossKind::softmax_cross_entropy  ? normalises_classes(network, node, classes_last)
                        : kind == LossKind::binary_cross_entropy ? node.op == "Sigmoid"
                                                                 : false;
  if (!includes) return output;
  notes.push_back(said_removed(network, node));
  return node.inputs[0];
}

// Targets are read from files, which have one sample behind the other: an output that has its samples further behind (steps
// first) is turned in front of the loss. A mean over all of it is the same either way.
Result<ValueId> samples_first(Network& network, ValueId output, std::vector<std::string>& notes) {
  const Dims dims = network.values[output].type.dims;
  const auto samples = std::find_if(dims.begin(), dims.end(), [](const Dim& dim) { return dim.batch; });
  if (samples == dims.begin() || samples == dims.end()) return output;
  std::vector<int64_t> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + (samples - dims.begin()), order.begin() + (samples - dims.begin()) + 1);
  Node node{.name = unused_name(network, network.values[output].name + "/samples_first"), .op = "Transpose", .opset = 13, .inputs = {output}};
  node.attributes["perm"] = order;
  node.outputs.push_back(add_value(network, node.name, ValueKind::intermediate, network.values[output].type));
  network.nodes.push_back(std::move(node));
  PLIMSOLL_ASSIGN(const auto inferred, find_op("Transpose")->infer(NodeView(network, network.nodes.back())));
  const ValueId turned = network.nodes.back().outputs[0];
  network.values[turned].type = inferred[0];
  notes.push_back(fmt::format("output '{}' is {}; targets have their samples one behind the other, as {}", network.values[output].name,
                              to_string(dims), to_string(inferred[0].dims)));
  return turned;
}

// The likelihood behind a LogSoftmax is the cross entropy of what is in front of it, and then the logarithms need not be kept.
void take_in_softmax(Network& network, Node& loss, std::vector<std::string>& notes) {
  if (loss.op != "NegativeLogLikelihoodLoss") return;
  const auto maker = maker_of(network, loss.inputs[0]);
  if (!maker || network.nodes[*maker].op != "LogSoftmax" || !normalises_classes(network, network.nodes[*maker], false)) return;
  notes.push_back(said_removed(network, network.nodes[*maker]));
  loss.inputs[0] = network.nodes[*maker].inputs[0];
  loss.op = "SoftmaxCrossEntropyLoss";
}

void keep_own_loss(Network& network, NodeId id, std::vector<std::string>& notes) {
  if (network.outputs.size() > 1)
    notes.push_back(fmt::format("outputs beside the loss of node '{}' are dropped", network.nodes[id].name));
  const ValueId loss = network.nodes[id].outputs[0];
  network.outputs = {loss};
  take_in_softmax(network, network.nodes[id], notes);
  prune_dead_nodes(network);
  // Beyond this point the loss depends on every node, so it is the last.
  if (is_class_loss(network.nodes.back())) {
    const ValueId correct = add_value(network, "correct", ValueKind::intermediate, {DataType::f32, {{1}}});
    network.nodes.back().outputs = {loss, correct};
    network.outputs.push_back(correct);
  }
  network.values[loss].type = {DataType::f32, {{1}}};
  // Per token, the model's own loss sees scores and labels as rows: [N,T] → [N·T].
  ValueId given = network.nodes.back().inputs[1];
  while (const auto maker = maker_of(network, given)) given = network.nodes[*maker].inputs[0];
  const auto labels = std::find(network.inputs.begin(), network.inputs.end(), given);
  if (labels != network.inputs.end()) std::rotate(labels, labels + 1, network.inputs.end());
}

}  // namespace

Status attach_loss(Network& network, LossKind kind, std::vector<std::string>& notes) {
  if (network.outputs.empty()) return Error{ExitCode::invalid_model, "the model has no output"};
  if (const auto own = own_loss(network)) {
    keep_own_loss(network, *own, notes);
    return {};
  }
  if (kind == LossKind::none)
    return Error{ExitCode::usage, "the model has no loss of its own; choose one, as in --loss softmax-cross-entropy"};

  const bool classes = kind == LossKind::softmax_cross_entropy, binary = kind == LossKind::binary_cross_entropy;
  ValueId output = network.outputs[0];
  for (size_t i = 1; i < network.outputs.size(); ++i)
    notes.push_back(fmt::format("output '{}' is dropped: the loss is of the first output, '{}'",
                                network.values[network.outputs[i]].name, network.values[output].name));
  const bool tokens = classes && scores_tokens(network, network.values[output].type);
  output = without_activation(network, output, kind, tokens, notes);
  if (const TensorType& type = network.values[output].type; type.type != DataType::f32)
    return Error{ExitCode::invalid_model,
                 fmt::format("output '{}' is {}: no loss of it can be minimised", network.values[output].name,
                             to_string(type))};
  if (!classes || tokens) {
    PLIMSOLL_ASSIGN(output, samples_first(network, output, notes));
  }
  const TensorType type = network.values[output].type;
  if (classes && (type.rank() < 2 || !type.dims[0].batch))
    return Error{ExitCode::invalid_model,
                 fmt::format("output '{}' is {} when scores should be [N,classes]; choose another loss, as in --loss mse",
                             network.values[output].name, to_string(type))};

  TensorType given = type;
  given.layout = Layout::plain;
  if (classes) {
    given.type = DataType::i32;
    given.dims.erase(tokens ? given.dims.end() - 1 : given.dims.begin() + 1);
    const bool one_pixel = !tokens &&
        std::all_of(given.dims.begin() + 1, given.dims.end(), [](const Dim& dim) { return dim == Dim{1}; });
    if (one_pixel) given.dims.resize(1);
  }
  const ValueId labels = add_value(network, classes ? "labels" : "target", ValueKind::input, given);
  network.inputs.push_back(labels);
  Node node{.name = unused_name(network, "loss"),
            .op = classes ? "SoftmaxCrossEntropyLoss" : binary ? "BinaryCrossEntropyLoss" : "MseLoss",
            .opset = 13,
            .inputs = {output, labels}};
  if (tokens) {
    node.attributes["classes_last"] = int64_t{1};
    notes.push_back(fmt::format("the scores {} are of each token: the labels are {}", to_string(type.dims), to_string(given.dims)));
  }
  const TensorType number{DataType::f32, {{1}}};
  node.outputs.push_back(add_value(network, "loss", ValueKind::intermediate, number));
  if (classes || binary) node.outputs.push_back(add_value(network, "correct", ValueKind::intermediate, number));
  network.outputs = node.outputs;
  network.nodes.push_back(std::move(node));
  const auto inferred = find_op(network.nodes.back().op)->infer(NodeView(network, network.nodes.back()));
  PLIMSOLL_TRY(inferred);
  prune_dead_nodes(network);
  return {};
}

}  // namespace plimsoll
