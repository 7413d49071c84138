#include "compiler/network/composites.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/network/prune.h"
#include "compiler/ops/binary.h"
#include "compiler/ops/reshaping.h"

namespace plimsoll {
namespace {

bool near(double a, double b) { return std::abs(a - b) <= 1e-4 * std::abs(b); }

class Composites {
 public:
  explicit Composites(Network& network) : network_(network), readers_(network.values.size()), maker_(network.values.size()) {
    for (const NodeId id : ids_of(network.nodes)) {
      for (const ValueId input : network.nodes[id].inputs)
        if (input.valid()) readers_[input].push_back(id);
      for (const ValueId output : network.nodes[id].outputs)
        if (output.valid()) maker_[output] = id;
    }
    for (const ValueId output : network.outputs) readers_[output].push_back(NodeId{});
  }

  // A node takes the place of the last step; the steps before it are read by nobody then, and pruned.
  void run() {
    for (const NodeId id : ids_of(network_.nodes)) {
      if (network_.nodes[id].op == "Div") fuse_normalization(id);
      if (network_.nodes[id].op == "Erf" || network_.nodes[id].op == "Tanh") fuse_gelu(id);
      if (network_.nodes[id].op == "MatMul") fuse_transposes(id);
      if (network_.nodes[id].op == "Bernoulli") fuse_dropout(id);
    }
    prune_dead_nodes(network_);
  }

 private:
  NodeView view(const Node& node) const { return {network_, node}; }

  // The node that makes the value, if it is of that operator.
  const Node* made_by(ValueId value, std::string_view op) const {
    if (!value.valid() || !maker_[value].valid()) return nullptr;
    const Node& node = network_.nodes[maker_[value]];
    return node.op == op && node.outputs[0] == value ? &node : nullptr;
  }

  // The one node that reads the value, if it is of that operator.
  std::optional<NodeId> read_by(ValueId value, std::string_view op) const {
    const std::vector<NodeId>& readers = readers_[value];
    if (readers.size() != 1 || !readers[0].valid() || network_.nodes[readers[0]].op != op) return std::nullopt;
    return readers[0];
  }

  // The operand beside a number (of `wanted` size) of a node with two.
  std::optional<ValueId> beside(const Node& node, std::optional<double> wanted = std::nullopt, double* found = nullptr) const {
    for (size_t i = 0; i < 2; ++i) {
      if (i == 0 && node.op == "Div") continue;
      const auto number = number_at(view(node), i);
      if (!number || (wanted && !near(*number, *wanted))) continue;
      if (found) *found = *number;
      return node.inputs[1 - i];
    }
    return std::nullopt;
  }

  // The first of the trailing axes that a ReduceMean averages over; nullopt: others.
  std::optional<size_t> trailing_axis(const Node& node) const {
    const size_t rank = view(node).input_type(0).rank();
    const auto axes = axes_of(view(node), 1, rank);
    if (!axes.ok() || !*axes || (*axes)->empty() || view(node).integer("keepdims", 1) == 0) return std::nullopt;
    const std::vector<size_t>& list = **axes;
    const Dims& x = view(node).input_type(0).dims;
    if (std::any_of(list.begin(), list.end(), [&](size_t axis) { return x[axis].batch; })) return std::nullopt;
    return list.back() == rank - 1 && list.front() + list.size() == rank ? std::optional(list.front()) : std::nullopt;
  }

  // A weight of one number for each element that is normalised with the others, beside `value` in its only reader.
  std::optional<std::pair<NodeId, ValueId>> affine(ValueId value, std::string_view op, size_t axis) const {
    const auto reader = read_by(value, op);
    if (!reader) return std::nullopt;
    const std::vector<ValueId>& inputs = network_.nodes[*reader].inputs;
    const ValueId other = inputs[0] == value ? inputs[1] : inputs[0];
    const Dims& x = network_.values[value].type.dims;
    const Dims row(x.begin() + static_cast<int64_t>(axis), x.end());
    if (network_.values[other].kind != ValueKind::parameter || network_.values[other].type.dims != row) return std::nullopt;
    return std::pair(*reader, other);
  }

  // Div(d, Sqrt(Add(ReduceMean(Pow(d, 2)), epsilon))) with d = Sub(x, ReduceMean(x))
  void fuse_normalization(NodeId division) {
    const ValueId off = network_.nodes[division].inputs[0];
    const Node* difference = made_by(off, "Sub");
    const Node* root = made_by(network_.nodes[division].inputs[1], "Sqrt");
    if (!difference || !root) return;
    const Node* mean = made_by(difference->inputs[1], "ReduceMean");
    const Node* sum = made_by(root->inputs[0], "Add");
    if (!mean || !sum || mean->inputs[0] != difference->inputs[0]) return;
    double epsilon = 0;
    const auto before = beside(*sum, std::nullopt, &epsilon);
    const Node* variance = before ? made_by(*before, "ReduceMean") : nullptr;
    if (!variance || !is_square(variance->inputs[0], off)) return;
    const auto axis = trailing_axis(*mean);
    if (!axis || trailing_axis(*variance) != axis) return;

    std::vector<ValueId> inputs = {difference->inputs[0]};
    NodeId last = division;
    if (const auto scale = affine(network_.nodes[last].outputs[0], "Mul", *axis)) {
      last = scale->first;
      inputs.push_back(scale->second);
    }
    if (const auto bias = inputs.size() == 2 ? affine(network_.nodes[last].outputs[0], "Add", *axis) : std::nullopt) {
      last = bias->first;
      inputs.push_back(bias->second);
    }
    become(last, "LayerNormalization", 17, std::move(inputs), {{"axis", static_cast<int64_t>(*axis)}, {"epsilon", epsilon}});
  }

  bool is_square(ValueId value, ValueId of) const {
    if (const Node* power = made_by(value, "Pow")) return power->inputs[0] == of && view(*power).constant_real(1) == 2.0;
    const Node* product = made_by(value, "Mul");
    return product && product->inputs[0] == of && product->inputs[1] == of;
  }

  // x of Div(x, √2), Mul(x, √½)
  std::optional<ValueId> under_erf(ValueId value) const {
    if (const Node* node = made_by(value, "Div")) return beside(*node, std::sqrt(2.0));
    if (const Node* node = made_by(value, "Mul")) return beside(*node, std::sqrt(0.5));
    return std::nullopt;
  }

  // x of Mul(Add(x, Mul(Pow(x, 3), 0.044715)), √(2/π))
  std::optional<ValueId> under_tanh(ValueId value) const {
    const Node* scaled = made_by(value, "Mul");
    const auto inner = scaled ? beside(*scaled, 0.7978845608028654) : std::nullopt;
    const Node* sum = inner ? made_by(*inner, "Add") : nullptr;
    for (size_t i = 0; sum && i < 2; ++i) {
      const Node* cubic = made_by(sum->inputs[1 - i], "Mul");
      const auto power = cubic ? beside(*cubic, 0.044715) : std::nullopt;
      const Node* cube = power ? made_by(*power, "Pow") : nullptr;
      if (cube && cube->inputs[0] == sum->inputs[i] && view(*cube).constant_real(1) == 3.0) return sum->inputs[i];
    }
    return std::nullopt;
  }

  // ½ x (1 + f), multiplied in any order.
  void fuse_gelu(NodeId function) {
    const bool by_tanh = network_.nodes[function].op == "Tanh";
    const ValueId argument = network_.nodes[function].inputs[0];
    const auto x = by_tanh ? under_tanh(argument) : under_erf(argument);
    const auto sum = x ? read_by(network_.nodes[function].outputs[0], "Add") : std::nullopt;
    if (!sum || !beside(network_.nodes[*sum], 1.0)) return;
    ValueId gate = network_.nodes[*sum].outputs[0];
    bool halved = false, whole = false;
    NodeId last;
    for (int step = 0; step < 2 && !(halved && whole); ++step) {
      const auto product = read_by(gate, "Mul");
      if (!product) return;
      const Node& node = network_.nodes[*product];
      const ValueId other = node.inputs[0] == gate ? node.inputs[1] : node.inputs[0];
      const Node* half = made_by(other, "Mul");
      if (other == *x && !whole) {
        whole = true;
      } else if (half && beside(*half, 0.5) == x && !halved && !whole) {
        halved = whole = true;
      } else if (beside(node, 0.5) == gate && !halved) {
        halved = true;
      } else {
        return;
      }
      last = *product;
      gate = node.outputs[0];
    }
    if (!halved || !whole) return;
    become(last, "Gelu", 20, {*x}, {{"approximate", std::string(by_tanh ? "tanh" : "none")}});
  }

  // x · mask / p, with an element of the mask for each of x.
  void fuse_dropout(NodeId mask) {
    const double probability = view(network_.nodes[mask]).real("probability", 0);
    const auto scaled = read_by(network_.nodes[mask].outputs[0], "Div");
    if (!scaled || !beside(network_.nodes[*scaled], probability)) return;
    const ValueId factor = network_.nodes[*scaled].outputs[0];
    const auto product = read_by(factor, "Mul");
    if (!product) return;
    const std::vector<ValueId>& inputs = network_.nodes[*product].inputs;
    const ValueId x = inputs[0] == factor ? inputs[1] : inputs[0];
    if (x == factor || network_.values[x].kind == ValueKind::constant || network_.values[x].type != network_.values[factor].type) return;
    become(*product, "Dropout", 7, {x}, {{"ratio", 1 - probability}});
  }

  void fuse_transposes(NodeId product) {
    for (size_t i = 0; i < 2; ++i) {
      Node& node = network_.nodes[product];
      const Node* transpose = made_by(node.inputs[i], "Transpose");
      if (!transpose) continue;
      const size_t rank = network_.values[node.inputs[i]].type.rank();
      std::vector<int64_t> reversed, swapped;
      for (size_t axis = 0; axis < rank; ++axis) {
        reversed.push_back(static_cast<int64_t>(rank - 1 - axis));
        swapped.push_back(static_cast<int64_t>(axis));
      }
      if (rank < 2) continue;
      std::swap(swapped[rank - 2], swapped[rank - 1]);
      if (view(*transpose).integers("perm", reversed) != swapped) continue;
      (i == 0 ? node.marks.transposed_a : node.marks.transposed_b) = true;
      node.inputs[i] = transpose->inputs[0];
    }
  }

  // Types stay: the node makes what the last step made.
  void become(NodeId id, const std::string& op, int opset, std::vector<ValueId> inputs,
              std::map<std::string, NodeAttribute> attributes) {
    Node& node = network_.nodes[id];
    node.op = op;
    node.opset = opset;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
  }

  Network& network_;
  IdVector<ValueId, std::vector<NodeId>> readers_;
  IdVector<ValueId, NodeId> maker_;
};

}  // namespace

void fuse_composites(Network& network) { Composites(network).run(); }

}  // namespace plimsoll
