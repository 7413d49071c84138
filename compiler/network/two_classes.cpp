#include "compiler/network/two_classes.h"

#include <fmt/format.h>

#include "compiler/network/edit.h"
#include "compiler/ops/node_view.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

// A probability by its score: Sigmoid(score), or 1 - Sigmoid(score).
struct Probability {
  ValueId score = {};
  bool complement = false;
};

// Whether the node has as many elements as this input, each computed from the element at the same place.
bool keeps_places(const Network& network, const Node& node, size_t input) {
  return node.marks == NodeMarks{} && node.outputs.size() == 1 &&
         NodeView(network, node).input_type(input).elements() == network.values[node.outputs[0]].type.elements();
}

// An initializer whose role the file does not state counts, as that of skl2onnx: trained, it would be 1 no longer, and
// the results no probabilities.
bool is_one(const NodeView& view, size_t input) {
  return view.constant_real(input) == 1 || (view.has_input(input) && view.input(input).number == 1);
}

std::optional<Probability> probability(const Network& network, const ValueUses& uses, ValueId value) {
  Probability found;
  bool of_score = false;  // past the Sigmoid
  for (NodeId maker = uses.maker[value]; maker.valid(); maker = uses.maker[value]) {
    const Node& node = network.nodes[maker];
    if (of_score && node.op != "Neg") break;
    if (node.op == "Sigmoid") {
      of_score = true;
      value = node.inputs[0];
    } else if (of_score) {
      found.complement = !found.complement;
      value = node.inputs[0];
    } else if (const auto other = complemented(network, uses, node)) {
      found.complement = !found.complement;
      value = *other;
    } else if (find_op(node.op)->axes == AxesRule::regrouped && keeps_places(network, node, 0)) {
      value = node.inputs[0];
    } else {
      break;
    }
  }
  found.score = value;
  return of_score ? std::optional(found) : std::nullopt;
}

// Appends a node of one output.
ValueId append(Network& network, Node node, TensorType type) {
  node.outputs = {add_value(network, node.name, ValueKind::intermediate, std::move(type))};
  network.nodes.push_back(std::move(node));
  return network.nodes.back().outputs[0];
}

}  // namespace

std::optional<ValueId> complemented(const Network& network, const ValueUses& uses, const Node& node) {
  const NodeView view(network, node);
  if (node.op == "Sub" && is_one(view, 0) && keeps_places(network, node, 1)) return node.inputs[1];
  if (node.op != "Add") return std::nullopt;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    if (!is_one(view, 1 - i) || !keeps_places(network, node, i)) continue;
    const NodeId maker = uses.maker[node.inputs[i]];
    if (maker.valid() && network.nodes[maker].op == "Neg") return network.nodes[maker].inputs[0];
  }
  return std::nullopt;
}

std::optional<TwoClasses> two_classes(const Network& network, const ValueUses& uses, const Node& node,
                                      size_t axis) {
  if (node.op != "Concat" || node.inputs.size() != 2 || node.marks != NodeMarks{}) return std::nullopt;
  for (const ValueId input : node.inputs) {
    const Dims& dims = network.values[input].type.dims;
    if (axis >= dims.size() || dims[axis] != Dim{1}) return std::nullopt;
  }
  const TensorType& type = network.values[node.outputs[0]].type;
  if (type.dims[axis] != Dim{2}) return std::nullopt;  // another axis is concatenated
  const auto first = probability(network, uses, node.inputs[0]), second = probability(network, uses, node.inputs[1]);
  if (!first || !second || first->score != second->score || first->complement == second->complement)
    return std::nullopt;
  return TwoClasses{.score = first->score, .score_first = second->complement};
}

ValueId scores_of_two_classes(Network& network, NodeId id, const TwoClasses& classes, size_t axis) {
  const std::string name = network.nodes[id].name;
  TensorType type = network.values[network.nodes[id].outputs[0]].type;
  type.dims[axis].value = 1;
  ValueId score = classes.score;
  if (network.values[score].type.dims != type.dims) {
    Node reshape{.name = unused_name(network, fmt::format("{}/score", name)),
                 .op = "Reshape",
                 .opset = 1,  // whose target is an attribute
                 .inputs = {score}};
    std::vector<int64_t> target;
    for (const Dim& dim : type.dims) target.push_back(dim.batch ? -1 : dim.value);
    reshape.attributes["shape"] = std::move(target);
    score = append(network, std::move(reshape), type);
  }
  std::vector<int64_t> pads(2 * type.rank(), 0);
  pads[classes.score_first ? type.rank() + axis : axis] = 1;
  Node pad{.name = unused_name(network, fmt::format("{}/scores", name)),
           .op = "Pad",
           .opset = 10,  // whose pads are an attribute
           .inputs = {score}};
  pad.attributes["pads"] = std::move(pads);
  type.dims[axis].value = 2;
  return append(network, std::move(pad), std::move(type));
}

}  // namespace plimsoll
