#include "compiler/network/output_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "compiler/network/class_axis.h"
#include "compiler/network/edit.h"
#include "compiler/network/own_loss.h"
#include "compiler/network/row_order.h"
#include "compiler/network/two_classes.h"
#include "compiler/network/value_uses.h"
#include "compiler/ops/node_view.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

// The elements behind an axis, and whether samples are among them.
Dim product_behind(const Dims& dims, size_t axis) {
  Dim product{1};
  for (size_t i = axis + 1; i < dims.size(); ++i)
    product = {product.value * dims[i].value, product.batch || dims[i].batch};
  return product;
}

// Whether the elements of the output are those of the input, as also of a mean or a maximum of one element each.
bool only_moves(const Network& network, const Node& node) {
  if (node.marks != NodeMarks{} || node.outputs.size() != 1) return false;
  if (find_op(node.op)->moves_only) return true;
  return node.op.starts_with("Reduce") && NodeView(network, node).input_type(0).elements() ==
                                              network.values[node.outputs[0]].type.elements();
}

// The axis of the input that a node which only moves elements makes its output's `axis`. nullopt: none, or unknown.
std::optional<size_t> axis_moved_from(const Network& network, const Node& node, size_t axis) {
  const NodeView view(network, node);
  if (node.op == "Transpose") return axis_before(view, axis);
  const Dims& from = view.input_type(0).dims;
  const Dims& to = network.values[node.outputs[0]].type.dims;
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] == to[axis] && product_behind(from, i) == product_behind(to, axis)) return i;
  return std::nullopt;
}

// The node that makes a value, if it is of this operator.
const Node* made_by(const Network& network, ValueId value, std::string_view op) {
  const auto maker = maker_of(network, value);
  return maker && network.nodes[*maker].op == op ? &network.nodes[*maker] : nullptr;
}

bool sums_axis(const Network& network, const Node& sum, size_t axis) {
  const NodeView view(network, sum);
  std::vector<int64_t> axes = view.integers("axes", {});
  if (view.has_input(1)) axes = view.constant_integers(1).value_or(std::vector<int64_t>{});
  const auto rank = static_cast<int64_t>(view.input_type(0).rank());
  return axes.size() == 1 && (axes[0] < 0 ? axes[0] + rank : axes[0]) == static_cast<int64_t>(axis);
}

// What a softmax over `axis` reads that is spelled out: Exp(x) / ReduceSum(Exp(x)). Libraries subtract the maximum from
// the scores first, which changes neither the softmax nor the cross entropy.
std::optional<ValueId> read_by_spelled_softmax(const Network& network, const Node& quotient, size_t axis) {
  if (quotient.op != "Div") return std::nullopt;
  const ValueId powers = quotient.inputs[0];
  const Node* const exponential = made_by(network, powers, "Exp");
  ValueId sum = quotient.inputs[1];
  const Dims& dims = network.values[powers].type.dims;
  Dims others = network.values[sum].type.dims;
  if (!exponential || others.size() != dims.size()) return std::nullopt;
  others[axis] = dims[axis];
  if (others != dims) return std::nullopt;
  for (auto maker = maker_of(network, sum); maker; maker = maker_of(network, sum)) {
    const Node& node = network.nodes[*maker];
    if (node.op == "ReduceSum")
      return node.inputs[0] == powers && sums_axis(network, node, axis) ? std::optional(exponential->inputs[0])
                                                                       : std::nullopt;
    if (node.op == "Expand") {  // repeats each sum along the axis, and along no other
      Dims wide = NodeView(network, node).input_type(0).dims;
      if (wide.size() != dims.size() || network.values[sum].type.dims != dims) return std::nullopt;
      wide[axis] = dims[axis];
      if (wide != dims) return std::nullopt;
    } else if (find_op(node.op)->axes != AxesRule::regrouped) {
      return std::nullopt;
    }
    sum = node.inputs[0];
  }
  return std::nullopt;
}

// What a node reads that turns scores into probabilities. nullopt: it is another node.
std::optional<ValueId> scores_before(const Network& network, const Node& node, Activation activation, size_t axis) {
  if (activation == Activation::sigmoid) return node.op == "Sigmoid" ? std::optional(node.inputs[0]) : std::nullopt;
  if (normalises_axis(network, node, axis)) return node.inputs[0];
  return read_by_spelled_softmax(network, node, axis);
}

// What a node would read if it were the activation: scores, which may take nodes of their own. nullopt: another node.
std::optional<ValueId> scores_read(Network& network, const ValueUses& uses, NodeId id, Activation activation,
                                   size_t axis) {
  if (const auto before = scores_before(network, network.nodes[id], activation, axis)) return before;
  if (activation != Activation::softmax) return std::nullopt;
  const auto classes = two_classes(network, uses, network.nodes[id], axis);
  return classes ? std::optional(scores_of_two_classes(network, id, *classes, axis)) : std::nullopt;
}

// Appends a copy of the node that reads another value. Before: the node has one output.
ValueId repeat(Network& network, NodeId id, ValueId input) {
  Node copy = network.nodes[id];
  const Value& made = network.values[copy.outputs[0]];
  copy.name = unused_name(network, fmt::format("{}/of_scores", copy.name));
  copy.inputs[0] = input;
  TensorType type = made.type;
  copy.outputs = {add_value(network, fmt::format("{}/of_scores", made.name), ValueKind::intermediate, std::move(type))};
  const ValueId result = copy.outputs[0];
  network.nodes.push_back(std::move(copy));
  return result;
}

}  // namespace

ValueId without_activation(Network& network, ValueId output, Activation activation, size_t class_axis,
                           std::vector<std::string>& notes) {
  if (activation == Activation::none) return output;
  const ValueUses uses(network);
  std::vector<NodeId> moves;
  size_t axis = class_axis;
  for (ValueId value = output;;) {
    const NodeId maker = uses.maker[value];
    if (!maker.valid()) return output;
    if (const auto before = scores_read(network, uses, maker, activation, axis)) {
      notes.push_back(said_removed(network, network.nodes[maker]));
      ValueId scores = *before;
      for (auto move = moves.rbegin(); move != moves.rend(); ++move) scores = repeat(network, *move, scores);
      return scores;
    }
    const Node& node = network.nodes[maker];
    if (!only_moves(network, node)) return output;
    if (activation == Activation::softmax) {
      const auto before = axis_moved_from(network, node, axis);
      if (!before) return output;
      axis = *before;
    }
    moves.push_back(maker);
    value = node.inputs[0];
  }
}

bool are_probabilities(const Network& network, ValueId output) {
  const ValueUses uses(network);
  IdVector<ValueId, bool> seen(network.values.size(), false);
  std::vector<ValueId> pending = {output};
  while (!pending.empty()) {
    const ValueId value = pending.back();
    pending.pop_back();
    if (seen[value]) continue;
    seen[value] = true;
    if (!uses.maker[value].valid()) return false;
    const Node& node = network.nodes[uses.maker[value]];
    if (node.op == "Sigmoid" || node.op == "Softmax") continue;
    if (const auto other = complemented(network, uses, node)) pending.push_back(*other);
    else if (node.op == "Concat") pending.insert(pending.end(), node.inputs.begin(), node.inputs.end());
    else if (only_moves(network, node)) pending.push_back(node.inputs[0]);
    else return false;
  }
  return true;
}

Result<ValueId> with_axis_of_samples(Network& network, ValueId output, std::vector<std::string>& notes) {
  const Value shown = network.values[output];
  const Dims& dims = shown.type.dims;
  const size_t axis = axis_of_batch(dims);
  if (axis == dims.size() || dims[axis].value == 1) return output;
  PLIMSOLL_ASSIGN(const auto orders, find_row_orders(network, std::array{output}));
  const std::optional<RowOrder>& rows = orders[output];
  if (!rows)
    return Error{ExitCode::invalid_model,
                 fmt::format("output '{}' is {}: it is not known which of its rows belong to which sample, and labels "
                             "are read sample by sample",
                             shown.name, to_string(shown.type)),
                 {"end the model in an output with a dimension for the samples alone, such as [N,T,C]"}};
  std::vector<int64_t> target;
  TensorType type = shown.type;
  type.dims = {};
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i != axis) {
      type.dims.push_back(dims[i]);
      target.push_back(dims[i].value);
      continue;
    }
    if (rows->steps_before > 1) type.dims.push_back({rows->steps_before}), target.push_back(rows->steps_before);
    type.dims.push_back(kBatch), target.push_back(-1);
    if (rows->of_sample > 1) type.dims.push_back({rows->of_sample}), target.push_back(rows->of_sample);
  }
  notes.push_back(fmt::format("output '{}' is {}; {}: {}", shown.name, to_string(dims),
                              rows->steps_before > 1 ? "its steps are separated from its samples"
                                                     : "it has several rows for each sample",
                              to_string(type.dims)));
  Node node{.name = unused_name(network, fmt::format("{}/by_sample", shown.name)),
            .op = "Reshape",
            .opset = 1,  // whose target is an attribute
            .inputs = {output}};
  node.attributes["shape"] = target;
  node.outputs.push_back(add_value(network, node.name, ValueKind::intermediate, type));
  network.nodes.push_back(std::move(node));
  return network.nodes.back().outputs[0];
}

}  // namespace plimsoll
