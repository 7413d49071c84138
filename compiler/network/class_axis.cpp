#include "compiler/network/class_axis.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/network/edit.h"
#include "compiler/network/two_classes.h"
#include "compiler/network/value_uses.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

// A network that reads tokens [N, T] and has scores [N, T, C] or [T, N, C] scores every token.
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

bool is_activation(const Network& network, ValueId value) {
  return value.valid() && network.values[value].kind == ValueKind::intermediate;
}

// Whether the node's output has the channels of its first activation at axis 1, in the same order.
bool keeps_channels(const Network& network, const Node& node, const Dims& from) {
  const AxesRule axes = find_op(node.op)->axes;
  if (axes == AxesRule::changed) return false;
  const Dims& to = network.values[node.outputs[0]].type.dims;
  if (from.size() < 2 || to.size() < 2 || from[0] != to[0] || from[1] != to[1] || !to[0].batch) return false;
  const auto elements = [](const Dims& dims) { return TensorType{DataType::f32, dims}.elements().at(1); };
  return axes == AxesRule::regrouped ? elements(from) == elements(to) : from.size() == to.size();
}

bool are_channels_of_a_convolution(const Network& network, ValueId scores) {
  for (ValueId value = scores;;) {
    const auto maker = maker_of(network, value);
    if (!maker) return false;
    const Node& node = network.nodes[*maker];
    if (find_op(node.op)->axes == AxesRule::channels) return true;
    const auto from = std::find_if(node.inputs.begin(), node.inputs.end(),
                                   [&](ValueId input) { return is_activation(network, input); });
    if (from == node.inputs.end() || !keeps_channels(network, node, network.values[*from].type.dims)) return false;
    value = *from;
  }
}

// The axis of the transposed value that holds the given axis of the value before it.
size_t axis_after(const NodeView& transpose, size_t axis) {
  for (size_t i = 0; i < transpose.output_type(0).rank(); ++i)
    if (axis_before(transpose, i) == axis) return i;
  return axis;
}

// The axis that the last node normalizes, if it is a single one. Transposes after it move the axis.
std::optional<size_t> axis_of_softmax(const Network& network, ValueId scores) {
  const ValueUses uses(network);
  std::vector<NodeId> turns;
  while (uses.maker[scores].valid() && network.nodes[uses.maker[scores]].op == "Transpose") {
    turns.push_back(uses.maker[scores]);
    scores = network.nodes[turns.back()].inputs[0];
  }
  if (!uses.maker[scores].valid()) return std::nullopt;
  const Node& last = network.nodes[uses.maker[scores]];
  for (size_t axis = 0; axis < network.values[scores].type.rank(); ++axis) {
    if (!normalises_axis(network, last, axis) && !two_classes(network, uses, last, axis)) continue;
    for (auto turn = turns.rbegin(); turn != turns.rend(); ++turn)
      axis = axis_after(NodeView(network, network.nodes[*turn]), axis);
    return axis;
  }
  return std::nullopt;
}

// Whether there is a score for each pixel of an input image, channels first.
bool scores_pixels(const Network& network, const Dims& scores) {
  if (scores.size() < 4) return false;
  return std::any_of(network.inputs.begin(), network.inputs.end(), [&](ValueId id) {
    const TensorType& input = network.values[id].type;
    if (input.type != DataType::f32 || input.rank() != scores.size() || input.dims[0] != scores[0]) return false;
    return std::equal(scores.begin() + 2, scores.end(), input.dims.begin() + 2) &&
           !std::equal(scores.begin(), scores.end() - 1, input.dims.begin());
  });
}

// loss.h lists the cases in which the axis is unambiguous.
std::optional<size_t> clear_class_axis(const Network& network, ValueId scores) {
  const TensorType& type = network.values[scores].type;
  const auto is_one = [](const Dim& dim) { return dim == Dim{1}; };
  if (type.rank() < 2) return std::nullopt;
  if (type.dims[0].batch && std::all_of(type.dims.begin() + 2, type.dims.end(), is_one)) return 1;
  if (scores_tokens(network, type)) return type.rank() - 1;
  if (const auto axis = axis_of_softmax(network, scores); axis && !type.dims[*axis].batch) return axis;
  // Channels last: the convolution has them at axis 1, and a Transpose moves them.
  if (const auto maker = maker_of(network, scores); maker && network.nodes[*maker].op == "Transpose") {
    const NodeView turn(network, network.nodes[*maker]);
    if (are_channels_of_a_convolution(network, turn.node().inputs[0])) return axis_after(turn, 1);
  }
  if (type.dims[0].batch && (are_channels_of_a_convolution(network, scores) || scores_pixels(network, type.dims)))
    return 1;
  return std::nullopt;
}

// Labels as they are read from files, where samples come first.
Dims labels_of(const Dims& scores, size_t axis) {
  Dims labels = without_axis(scores, axis);
  const auto samples = std::find_if(labels.begin(), labels.end(), [](const Dim& dim) { return dim.batch; });
  if (samples != labels.end()) std::rotate(labels.begin(), samples, samples + 1);
  return labels;
}

Error unclear_class_axis(const Value& output) {
  Error error{
      ExitCode::usage,
      fmt::format("output '{}' is {}: which axis holds the classes is ambiguous; choose it with --class-axis K",
                  output.name, to_string(output.type))};
  for (size_t axis = 0; axis < output.type.rank(); ++axis) {
    const Dim dim = output.type.dims[axis];
    if (dim.batch || dim.value < 2) continue;
    error.notes.push_back(fmt::format("--class-axis {}: {} classes, labels i32{}", axis, dim.value,
                                      to_string(labels_of(output.type.dims, axis))));
  }
  return error;
}

Error one_class(const Value& output) {
  return {ExitCode::invalid_model,
          fmt::format("output '{}' is {}: the softmax cross entropy of one class is always 0; choose another loss",
                      output.name, to_string(output.type)),
          {"--loss mse for regression", "--loss bce-logits for binary classification"}};
}

}  // namespace

size_t axis_before(const NodeView& transpose, size_t axis) {
  std::vector<int64_t> reversed(transpose.output_type(0).rank());
  for (size_t i = 0; i < reversed.size(); ++i) reversed[i] = static_cast<int64_t>(reversed.size() - 1 - i);
  return static_cast<size_t>(transpose.integers("perm", reversed)[axis]);
}

bool normalises_axis(const Network& network, const Node& node, size_t axis) {
  const Op* const op = find_op(node.op);
  return op->normalizes && op->normalizes(NodeView(network, node), axis);
}

Dims without_axis(Dims dims, size_t axis) {
  dims.erase(dims.begin() + static_cast<int64_t>(axis));
  return dims;
}

Result<size_t> class_axis_of(const Network& network, ValueId scores, std::optional<int64_t> asked) {
  const Value& output = network.values[scores];
  const auto rank = static_cast<int64_t>(output.type.rank());
  const bool has_samples =
      std::any_of(output.type.dims.begin(), output.type.dims.end(), [](const Dim& dim) { return dim.batch; });
  if (rank < 2 || !has_samples)
    return Error{ExitCode::invalid_model,
                 fmt::format("output '{}' is {}, but class scores are [N,classes]; choose another loss: --loss "
                             "mse, --loss bce-logits, or --loss output if the output is the loss",
                             output.name, to_string(output.type))};
  std::optional<size_t> axis;
  if (asked) {
    const int64_t at = *asked < 0 ? *asked + rank : *asked;
    if (at < 0 || at >= rank || output.type.dims[static_cast<size_t>(at)].batch) {
      Error error = unclear_class_axis(output);
      error.message = fmt::format("--class-axis {}: this axis of output '{}', {}, {}", *asked, output.name,
                                  to_string(output.type), at < 0 || at >= rank ? "does not exist" : "is the batch");
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

}  // namespace plimsoll
