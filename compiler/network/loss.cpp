#include "compiler/network/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <string_view>

#include "compiler/network/output_loss.h"
#include "compiler/network/prune.h"
#include "compiler/ops/fed_labels.h"
#include "compiler/ops/op.h"

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

// The node of the loss, where the network's output is a loss.
std::optional<NodeId> own_loss(const Network& network, ValueId output) {
  const auto maker = maker_of(network, output);
  const bool own = maker && is_loss(network.nodes[*maker]) && network.nodes[*maker].outputs[0] == output &&
                   NodeView(network, network.nodes[*maker]).text("reduction", "mean") != "none";
  return own ? maker : std::nullopt;
}

// Which values the given one depends on; itself, too.
IdVector<ValueId, bool> behind(const Network& network, ValueId value) {
  IdVector<ValueId, bool> needed(network.values.size(), false);
  needed[value] = true;
  const std::vector<NodeId> ids = ids_of(network.nodes);
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    const Node& node = network.nodes[*id];
    const auto is_needed = [&](ValueId output) { return output.valid() && needed[output]; };
    if (std::none_of(node.outputs.begin(), node.outputs.end(), is_needed)) continue;
    for (const ValueId input : node.inputs)
      if (input.valid()) needed[input] = true;
  }
  return needed;
}

// The one output that is a loss, where training it leaves nothing out that makes another output.
std::optional<ValueId> loss_of_all(const Network& network) {
  std::optional<ValueId> loss;
  for (const ValueId output : network.outputs) {
    if (!own_loss(network, output)) continue;
    if (loss) return std::nullopt;
    loss = output;
  }
  if (!loss) return std::nullopt;
  const auto needed = behind(network, *loss);
  const bool all = std::all_of(network.outputs.begin(), network.outputs.end(), [&](ValueId output) { return needed[output]; });
  return all ? loss : std::nullopt;
}

// "'logits' f32[N,10], 'aux' f32[N,10]"
std::string outputs_in_words(const Network& network) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, network.outputs.size()); ++i) {
    const Value& value = network.values[network.outputs[i]];
    text += fmt::format("{}'{}' {}", i ? ", " : "", value.name, to_string(value.type));
  }
  return text + (network.outputs.size() > kShown ? ", …" : "");
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

// A Softmax or LogSoftmax over this axis and nothing else.
bool normalises_axis(const Network& network, const Node& node, int64_t classes) {
  if (node.op != "Softmax" && node.op != "LogSoftmax") return false;
  const Dims& dims = network.values[node.outputs[0]].type.dims;
  const int64_t rank = static_cast<int64_t>(dims.size());
  const bool matrix = node.opset < 13;  // all dimensions from the axis on are classes
  int64_t axis = NodeView(network, node).integer("axis", matrix ? 1 : -1);
  if (axis < 0) axis += rank;
  const auto is_one = [](const Dim& dim) { return dim == Dim{1}; };
  return axis == classes && (!matrix || std::all_of(dims.begin() + classes + 1, dims.end(), is_one));
}

std::string said_removed(const Network& network, const Node& node) {
  return fmt::format("{} is removed: the loss includes it", NodeView(network, node).describe());
}

// The loss works on scores; what makes probabilities of them would be there twice.
ValueId without_activation(const Network& network, ValueId output, LossKind kind, size_t class_axis, std::vector<std::string>& notes) {
  const auto maker = maker_of(network, output);
  if (!maker) return output;
  const Node& node = network.nodes[*maker];
  const bool includes = kind == LossKind::softmax_cross_entropy  ? normalises_axis(network, node, static_cast<int64_t>(class_axis))
                        : kind == LossKind::binary_cross_entropy ? node.op == "Sigmoid"
                                                                 : false;
  if (!includes) return output;
  notes.push_back(said_removed(network, node));
  return node.inputs[0];
}

// The value with its dimensions in another order.
Result<ValueId> turned(Network& network, ValueId value, const char* why, const std::vector<int64_t>& order) {
  Node node{.name = unused_name(network, fmt::format("{}/{}", network.values[value].name, why)), .op = "Transpose", .opset = 13,
            .inputs = {value}};
  node.attributes["perm"] = order;
  node.outputs.push_back(add_value(network, node.name, ValueKind::intermediate, network.values[value].type));
  network.nodes.push_back(std::move(node));
  PLIMSOLL_ASSIGN(const auto inferred, find_op("Transpose")->infer(NodeView(network, network.nodes.back())));
  const ValueId result = network.nodes.back().outputs[0];
  network.values[result].type = inferred[0];
  return result;
}

// 0, 1, 2, … with the dimension `from` moved to `to`.
std::vector<int64_t> order_with(size_t rank, size_t from, size_t to) {
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + static_cast<int64_t>(from));
  order.insert(order.begin() + static_cast<int64_t>(to), static_cast<int64_t>(from));
  return order;
}

// Targets are read from files, which have one sample after the other: an output that has its samples further behind (steps
// first) is turned in front of the loss. A mean over all of it is the same either way.
Result<ValueId> samples_first(Network& network, ValueId output, std::vector<std::string>& notes) {
  const Dims dims = network.values[output].type.dims;
  const auto samples = std::find_if(dims.begin(), dims.end(), [](const Dim& dim) { return dim.batch; });
  if (samples == dims.begin() || samples == dims.end()) return output;
  const auto order = order_with(dims.size(), static_cast<size_t>(samples - dims.begin()), 0);
  PLIMSOLL_ASSIGN(const ValueId result, turned(network, output, "samples_first", order));
  notes.push_back(fmt::format("output '{}' is {}; targets have their samples one behind the other, as {}", network.values[output].name,
                              to_string(dims), to_string(network.values[result].type.dims)));
  return result;
}

bool is_activation(const Network& network, ValueId value) {
  return value.valid() && network.values[value].kind == ValueKind::intermediate;
}

// Whether what the node makes has the channels of its first activation at axis 1, in their order.
bool keeps_channels(const Network& network, const Node& node, const Dims& from) {
  static constexpr std::array<std::string_view, 8> kTurning = {"Transpose", "MatMul",    "Gemm",   "Gather",
                                                               "ReduceMean", "ReduceSum", "Expand", "Flatten"};
  if (std::find(kTurning.begin(), kTurning.end(), node.op) != kTurning.end()) return false;
  const Dims& to = network.values[node.outputs[0]].type.dims;
  if (from.size() < 2 || to.size() < 2 || from[0] != to[0] || from[1] != to[1] || !to[0].batch) return false;
  const auto elements = [](const Dims& dims) { return TensorType{DataType::f32, dims}.elements().at(1); };
  const bool reshapes = node.op == "Reshape" || node.op == "Squeeze" || node.op == "Unsqueeze";
  return reshapes ? elements(from) == elements(to) : from.size() == to.size();
}

bool are_channels_of_a_convolution(const Network& network, ValueId scores) {
  for (ValueId value = scores;;) {
    const auto maker = maker_of(network, value);
    if (!maker) return false;
    const Node& node = network.nodes[*maker];
    if (node.op == "Conv" || node.op == "ConvTranspose") return true;
    const auto from = std::find_if(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return is_activation(network, input); });
    if (from == node.inputs.end() || !keeps_channels(network, node, network.values[*from].type.dims)) return false;
    value = *from;
  }
}

// The axis of a Softmax or LogSoftmax over one axis.
std::optional<size_t> axis_of_softmax(const Network& network, ValueId scores) {
  const auto maker = maker_of(network, scores);
  if (!maker) return std::nullopt;
  for (size_t axis = 0; axis < network.values[scores].type.rank(); ++axis)
    if (normalises_axis(network, network.nodes[*maker], static_cast<int64_t>(axis))) return axis;
  return std::nullopt;
}

// A score for each pixel of an image that is read, channels first.
bool scores_pixels(const Network& network, const Dims& scores) {
  if (scores.size() < 4) return false;
  return std::any_of(network.inputs.begin(), network.inputs.end(), [&](ValueId id) {
    const TensorType& input = network.values[id].type;
    if (input.type != DataType::f32 || input.rank() != scores.size() || input.dims[0] != scores[0]) return false;
    return std::equal(scores.begin() + 2, scores.end(), input.dims.begin() + 2) &&
           !std::equal(scores.begin(), scores.end() - 1, input.dims.begin());
  });
}

// loss.h says when it is clear.
std::optional<size_t> clear_class_axis(const Network& network, ValueId scores) {
  const TensorType& type = network.values[scores].type;
  const auto is_one = [](const Dim& dim) { return dim == Dim{1}; };
  if (type.rank() < 2) return std::nullopt;
  if (type.dims[0].batch && std::all_of(type.dims.begin() + 2, type.dims.end(), is_one)) return 1;
  if (scores_tokens(network, type)) return type.rank() - 1;
  if (const auto axis = axis_of_softmax(network, scores); axis && !type.dims[*axis].batch) return axis;
  if (type.dims[0].batch && (are_channels_of_a_convolution(network, scores) || scores_pixels(network, type.dims))) return 1;
  return std::nullopt;
}

Dims without(Dims dims, size_t axis) {
  dims.erase(dims.begin() + static_cast<int64_t>(axis));
  return dims;
}

// Labels as they are read from files, which have their samples first.
Dims labels_of(const Dims& scores, size_t axis) {
  Dims labels = without(scores, axis);
  const auto samples = std::find_if(labels.begin(), labels.end(), [](const Dim& dim) { return dim.batch; });
  if (samples != labels.end()) std::rotate(labels.begin(), samples, samples + 1);
  return labels;
}

Error unclear_class_axis(const Value& output) {
  Error error{ExitCode::usage, fmt::format("output '{}' is {}, and nothing says which of its axes holds the classes; name it: --class-axis K",
                                           output.name, to_string(output.type))};
  for (size_t axis = 0; axis < output.type.rank(); ++axis) {
    const Dim dim = output.type.dims[axis];
    if (dim.batch || dim.value < 2) continue;
    error.notes.push_back(fmt::format("--class-axis {}: {} classes, the labels are i32{}", axis, dim.value,
                                      to_string(labels_of(output.type.dims, axis))));
  }
  return error;
}

Error one_class(const Value& output) {
  return {ExitCode::invalid_model, fmt::format("output '{}' is {}: softmax cross entropy of one class is always 0; choose another loss", output.name,
                                       to_string(output.type)),
          {"--loss mse, if the output is a number", "--loss bce-logits, if the output is the logit of a yes or no"}};
}

Result<size_t> class_axis_of(const Network& network, ValueId scores, std::optional<int64_t> asked) {
  const Value& output = network.values[scores];
  const auto rank = static_cast<int64_t>(output.type.rank());
  const bool has_samples = std::any_of(output.type.dims.begin(), output.type.dims.end(), [](const Dim& dim) { return dim.batch; });
  if (rank < 2 || !has_samples)
    return Error{ExitCode::invalid_model,
                 fmt::format("output '{}' is {} when scores should be [N,classes]; choose another loss, as in --loss mse, --loss bce-logits, or --loss output if it is "
                             "the loss",
                             output.name, to_string(output.type))};
  std::optional<size_t> axis;
  if (asked) {
    const int64_t at = *asked < 0 ? *asked + rank : *asked;
    if (at < 0 || at >= rank || output.type.dims[static_cast<size_t>(at)].batch) {
      Error error = unclear_class_axis(output);
      error.message = fmt::format("--class-axis {} of output '{}', {}, {}", *asked, output.name, to_string(output.type),
                                  at < 0 || at >= rank ? "is not there" : "holds the samples");
      return error;
    }
    axis = static_cast<size_t>(at);
  } else {
    axis = clear_class_axis(network, scores);
    if (!axis) return unclear_class_axis(output);
  }
  if (output.type.dims[*axis].value == 1) return one_class(output);
  return *axis;
}

// What is asked for of a loss that is added, by the flag that asks; of another loss, or the model's own, it would be lost.
std::vector<std::string_view> asked_of_added_loss(const LossRequest& request) {
  std::vector<std::string_view> flags;
  if (request.class_axis) flags.push_back("--class-axis");
  if (request.ignore_index) flags.push_back("--ignore-index");
  if (!request.class_weights.empty()) flags.push_back("--class-weights");
  if (request.label_smoothing) flags.push_back("--label-smoothing");
  return flags;
}

Status check_weighing(const LossRequest& request, int64_t classes) {
  if (const auto index = request.ignore_index; index && *index >= classes)
    return Error{ExitCode::usage, fmt::format("--ignore-index {} is no label: there are {} classes, and what is negative is none, either", *index, classes)};
  if (!request.class_weights.empty() && static_cast<int64_t>(request.class_weights.size()) != classes)
    return Error{ExitCode::usage, fmt::format("--class-weights has {} weights when there are {} classes", request.class_weights.size(), classes)};
  if (std::any_of(request.class_weights.begin(), request.class_weights.end(), [](float w) { return !(w >= 0) || std::isinf(w); }))
    return Error{ExitCode::usage, "--class-weights takes numbers from 0 on"};
  if (const auto smoothing = request.label_smoothing; smoothing && !(*smoothing >= 0 && *smoothing <= 1))
    return Error{ExitCode::usage, fmt::format("--label-smoothing {} is not from 0 to 1", *smoothing)};
  return {};
}

void weigh(Network& network, Node& loss, const LossRequest& request) {
  if (request.ignore_index) loss.attributes["ignore_index"] = *request.ignore_index;
  if (request.label_smoothing.value_or(0) > 0) loss.marks.label_smoothing = *request.label_smoothing;
  if (request.class_weights.empty()) return;
  const TensorType type{DataType::f32, {{static_cast<int64_t>(request.class_weights.size())}}};
  const ValueId weights = add_value(network, kClassWeights, ValueKind::parameter, type);
  network.values[weights].initializer = kClassWeights;
  loss.inputs.push_back(weights);
}

// The likelihood behind a LogSoftmax is the cross entropy of what is in front of it, and then the logarithms need not be kept.
void take_in_softmax(Network& network, Node& loss, std::vector<std::string>& notes) {
  if (loss.op != "NegativeLogLikelihoodLoss") return;
  const auto maker = maker_of(network, loss.inputs[0]);
  if (!maker || network.nodes[*maker].op != "LogSoftmax" || !normalises_axis(network, network.nodes[*maker], 1)) return;
  notes.push_back(said_removed(network, network.nodes[*maker]));
  loss.inputs[0] = network.nodes[*maker].inputs[0];
  loss.op = "SoftmaxCrossEntropyLoss";
}

void keep_own_loss(Network& network, NodeId id, std::vector<std::string>& notes) {
  const ValueId loss = network.nodes[id].outputs[0];
  network.outputs = {loss};
  take_in_softmax(network, network.nodes[id], notes);
  prune_dead_nodes(network);
  // Beyond this point the loss depends on every node, so it is the last.
  const NodeView node(network, network.nodes.back());
  std::optional<ValueId> labels;  // that the trainer knows: it feeds them last, and hears of hits
  if (!is_class_loss(node.node())) labels = node.node().inputs[1];
  else if (const auto fed = fed_labels(node)) labels = fed->input;
  if (labels && is_class_loss(node.node())) {
    const ValueId correct = add_value(network, "correct", ValueKind::intermediate, {DataType::f32, {{1}}});
    network.nodes.back().outputs = {loss, correct};
    network.outputs.push_back(correct);
  }
  network.values[loss].type = {DataType::f32, {{1}}};
  if (!labels) return;
  while (const auto maker = maker_of(network, *labels)) labels = network.nodes[*maker].inputs[0];
  const auto last = std::find(network.inputs.begin(), network.inputs.end(), *labels);
  if (last != network.inputs.end()) std::rotate(last, last + 1, network.inputs.end());
}

}  // namespace

Status choose_output(Network& network, const std::string& name, std::vector<std::string>& notes) {
  if (network.outputs.empty()) return Error{ExitCode::invalid_model, "the model has no output"};
  std::vector<ValueId>& outputs = network.outputs;
  std::optional<ValueId> chosen;
  if (!name.empty()) {
    const auto named = std::find_if(outputs.begin(), outputs.end(), [&](ValueId id) { return network.values[id].name == name; });
    if (named == outputs.end())
      return Error{ExitCode::usage, fmt::format("--output '{}' is no output of the model; outputs: {}", name, outputs_in_words(network))};
    chosen = *named;
  } else if (std::all_of(outputs.begin(), outputs.end(), [&](ValueId id) { return id == outputs[0]; })) {
    chosen = outputs[0];
  } else {
    chosen = loss_of_all(network);
  }
  if (!chosen)
    return Error{ExitCode::invalid_model,
                 fmt::format("the model has {} outputs, and nothing says which of them the loss is of: {}; name it, as in --output '{}'",
                             outputs.size(), outputs_in_words(network), network.values[outputs[0]].name),
                 {"what makes only the other outputs is not trained then"}};
  for (const ValueId id : outputs)
    if (id != *chosen)
      notes.push_back(fmt::format("output '{}' is dropped: the loss is of output '{}'", network.values[id].name, network.values[*chosen].name));
  outputs = {*chosen};
  const auto needed = behind(network, *chosen);
  for (const ValueId id : ids_of(network.values))
    if (!needed[id]) network.values[id].trainable = false;
  return {};
}

Status attach_loss(Network& network, const LossRequest& request, std::vector<std::string>& notes) {
  const LossKind kind = request.kind;
  const bool is_output = kind == LossKind::output;
  std::string named = request.output;
  if (is_output) {
    PLIMSOLL_ASSIGN(named, find_output_loss(network, request.output));
  }
  PLIMSOLL_TRY(choose_output(network, named, notes));
  ValueId output = network.outputs[0];
  const bool classes = kind == LossKind::softmax_cross_entropy, binary = kind == LossKind::binary_cross_entropy;
  const auto own = own_loss(network, output);
  if (const auto flags = asked_of_added_loss(request); !flags.empty() && (own || !classes))
    return Error{ExitCode::usage, own ? fmt::format("{} is of a loss that is added; the model has its own, {}", flags[0],
                                                    NodeView(network, network.nodes[*own]).describe())
                                      : fmt::format("{} is of --loss softmax-cross-entropy", flags[0])};
  if (is_output && !own) {
    end_in_output(network);
    return {};
  }
  if (own) {
    keep_own_loss(network, *own, notes);
    return {};
  }
  if (kind == LossKind::none)
    return Error{ExitCode::usage, "the model has no loss of its own; choose one, as in --loss softmax-cross-entropy, or --loss output where an output is the loss"};
  if (const TensorType& type = network.values[output].type; type.type != DataType::f32)
    return Error{ExitCode::invalid_model,
                 fmt::format("output '{}' is {}: no loss of it can be minimised", network.values[output].name, to_string(type))};

  size_t axis = 0;
  bool tokens = false;
  if (classes) {
    PLIMSOLL_ASSIGN(axis, class_axis_of(network, output, request.class_axis));
    PLIMSOLL_TRY(check_weighing(request, network.values[output].type.dims[axis].value));
  }
  output = without_activation(network, output, kind, axis, notes);
  if (!classes) {
    PLIMSOLL_ASSIGN(output, samples_first(network, output, notes));
  } else {
    const Dims dims = network.values[output].type.dims;
    if (!dims[0].batch) {
      const auto samples = std::find_if(dims.begin(), dims.end(), [](const Dim& dim) { return dim.batch; }) - dims.begin();
      if (axis < static_cast<size_t>(samples)) ++axis;
      PLIMSOLL_ASSIGN(output, samples_first(network, output, notes));
    }
    tokens = axis > 1 && axis + 1 == dims.size();
    if (axis > 1 && !tokens) {
      PLIMSOLL_ASSIGN(output, turned(network, output, "classes_second", order_with(dims.size(), axis, 1)));
      axis = 1;
    }
  }
  const TensorType type = network.values[output].type;
  TensorType given = type;
  given.layout = Layout::plain;
  if (classes) {
    given.type = DataType::i32;
    given.dims = without(given.dims, axis);
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
  if (classes) weigh(network, node, request);
  if (tokens) {
    node.marks.classes_last = true;
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
