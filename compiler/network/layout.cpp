#include "compiler/network/layout.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

bool is_image(const TensorType& type) { return type.rank() == 4 && type.type == DataType::f32; }

bool can_lie(const TensorType& type, Layout images) {
  return is_image(type) && !type.dims[1].batch &&
         (images == Layout::nhwc || type.dims[1].value % block_of(images) == 0);
}

// Rebuilds the node list with Reorder nodes inserted; all other nodes keep their order.
class LayoutAssigner {
 public:
  // `wanted` null: each node follows the layout of its inputs.
  LayoutAssigner(Network& network, Layout images, const IdVector<NodeId, bool>* wanted)
      : network_(network), images_(images), wanted_(wanted), have_(network.nodes.size(), false) {}

  IdVector<NodeId, bool> run() {
    choose_weight_layouts();
    IdVector<NodeId, Node> nodes = std::exchange(network_.nodes, {});
    for (const NodeId id : ids_of(nodes)) {
      place(id, nodes[id]);
      network_.nodes.push_back(std::move(nodes[id]));
    }
    // Readers outside the network expect the plain layout.
    for (ValueId& output : network_.outputs)
      if (is_image(network_.values[output].type)) output = in_layout(output, Layout::plain);
    return std::move(have_);
  }

 private:
  void place(NodeId id, Node& node) {
    const Op& op = *find_op(node.op);
    const NodeView view(network_, node);
    const LayoutRule rule = op.layout_of ? op.layout_of(view) : op.layout;
    if (rule == LayoutRule::any && images_ != Layout::nhwc) {
      // Each operand individually: the result is blocked if possible, inputs are used as they are.
      for (const ValueId output : node.outputs)
        if (output.valid() && can_lie(type_of(output), images_)) type_of(output).layout = images_;
      return;
    }
    const bool accepts = rule != LayoutRule::plain && (rule != LayoutRule::blocks || images_ != Layout::nhwc);
    have_[id] = accepts && is_wanted(id, node, rule) && is_possible(node, op, view);
    const Layout layout = have_[id] ? images_ : Layout::plain;
    set_inputs(node, layout);
    set_outputs(node, layout);
  }

  // Convolutions always; the other operators follow their inputs.
  bool is_wanted(NodeId id, const Node& node, LayoutRule rule) const {
    if (wanted_) return (*wanted_)[id];
    return rule == LayoutRule::any || std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) {
             return is_data(v) && type_of(v).layout == images_;
           });
  }

  bool is_possible(const Node& node, const Op& op, const NodeView& view) const {
    const auto fits = [&](ValueId v) { return !is_data(v) || can_lie(type_of(v), images_); };
    for (size_t i = 0; op.weight_layout && images_ == Layout::nhwc && i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (input.valid() && network_.values[input].kind == ValueKind::parameter &&
          op.weight_layout(view, i, images_) != type_of(input).layout)
        return false;  // another reader needs it plain
    }
    return std::all_of(node.inputs.begin(), node.inputs.end(), fits) &&
           std::all_of(node.outputs.begin(), node.outputs.end(), fits);
  }

  // Image activations, to which layout rules apply. Weights have separate layouts.
  bool is_data(ValueId value) const {
    if (!value.valid()) return false;
    const Value& meaning = network_.values[value];
    return is_image(meaning.type) && (meaning.kind == ValueKind::intermediate || meaning.kind == ValueKind::input);
  }

  void set_inputs(Node& node, Layout layout) {
    for (ValueId& input : node.inputs)
      if (is_data(input)) input = in_layout(input, layout);
  }

  void set_outputs(const Node& node, Layout layout) {
    for (const ValueId output : node.outputs)
      if (is_data(output)) type_of(output).layout = layout;
  }

  // `value` itself if it already has that layout, otherwise a reordered copy, created once.
  ValueId in_layout(ValueId value, Layout layout) {
    if (type_of(value).layout == layout) return value;
    if (const auto origin = origin_.find(value); origin != origin_.end()) return in_layout(origin->second, layout);
    const auto [at, missing] = copies_.try_emplace({value, layout});
    if (!missing) return at->second;
    Value copy = network_.values[value];
    copy.name += ":" + std::string(name_of(layout));
    copy.kind = ValueKind::intermediate;
    copy.type.layout = layout;
    const std::string name = copy.name;
    at->second = network_.values.push_back(std::move(copy));
    origin_[at->second] = value;
    network_.nodes.push_back({.name = name, .op = "Reorder", .opset = 1, .inputs = {value}, .outputs = {at->second}});
    return at->second;
  }

  // A weight gets the layout preferred by the operator that reads it; if its readers disagree, it stays plain.
  void choose_weight_layouts() {
    std::map<ValueId, Layout> wish;
    for (const NodeId id : ids_of(network_.nodes)) {
      const Node& node = network_.nodes[id];
      const Op& op = *find_op(node.op);
      const NodeView view(network_, node);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const ValueId input = node.inputs[i];
        if (!input.valid() || network_.values[input].kind != ValueKind::parameter) continue;
        const bool asks = op.weight_layout && (!wanted_ || (*wanted_)[id]);
        const Layout layout = asks ? op.weight_layout(view, i, images_) : Layout::plain;
        const auto [at, first] = wish.try_emplace(input, layout);
        if (!first && at->second != layout) at->second = Layout::plain;
      }
    }
    for (const auto& [value, layout] : wish) type_of(value).layout = layout;
  }

  TensorType& type_of(ValueId value) { return network_.values[value].type; }
  const TensorType& type_of(ValueId value) const { return network_.values[value].type; }

  Network& network_;
  const Layout images_;
  const IdVector<NodeId, bool>* const wanted_;
  IdVector<NodeId, bool> have_;
  std::map<std::pair<ValueId, Layout>, ValueId> copies_;
  std::map<ValueId, ValueId> origin_;
};

}  // namespace

void assign_layouts(Network& network, Layout images) {
  if (images == Layout::plain) return;
  PLIMSOLL_CHECK(images == Layout::nhwc || block_of(images) > 0, "a layout of weights");
  LayoutAssigner(network, images, nullptr).run();
}

IdVector<NodeId, bool> assign_layouts(Network& network, Layout images, const IdVector<NodeId, bool>& wanted) {
  PLIMSOLL_CHECK(images == Layout::nhwc || block_of(images) > 0, "a layout of weights");
  return LayoutAssigner(network, images, &wanted).run();
}

}  // namespace plimsoll
