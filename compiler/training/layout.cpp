#include "compiler/training/layout.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

bool is_image(const TensorType& type) { return type.rank() == 4 && type.type == DataType::f32; }

bool can_block(const TensorType& type, int block) {
  return is_image(type) && !type.dims[1].batch && type.dims[1].value % block == 0;
}

// Rebuilds the node list with Reorder nodes in between; every other node keeps its place.
class LayoutAssigner {
 public:
  LayoutAssigner(Network& network, int block)
      : network_(network), block_(block), blocked_(block == 16 ? Layout::nChw16c : Layout::nChw8c) {}

  void run() {
    choose_weight_layouts();
    for (Node& node : std::exchange(network_.nodes, {})) {
      const Op& op = *find_op(node.op);
      const NodeView view(network_, node);
      place(node, op.layout_of ? op.layout_of(view) : op.layout);
      network_.nodes.push_back(std::move(node));
    }
    // What leaves the network is read by nobody who knows of blocks.
    for (ValueId& output : network_.outputs)
      if (is_image(network_.values[output].type)) output = in_layout(output, Layout::plain);
  }

 private:
  void place(Node& node, LayoutRule rule) {
    switch (rule) {
      case LayoutRule::plain:
        set_inputs(node, Layout::plain);
        set_outputs(node, Layout::plain);
        return;
      case LayoutRule::any:
        // Each operand for itself: the result is blocked where it can be, inputs are taken as they are.
        for (const ValueId output : node.outputs)
          if (output.valid() && can_block(type_of(output), block_)) type_of(output).layout = blocked_;
        return;
      case LayoutRule::elementwise:
      case LayoutRule::channels: {
        const bool wanted = std::any_of(node.inputs.begin(), node.inputs.end(),
                                        [&](ValueId v) { return is_data(v) && type_of(v).layout == blocked_; });
        const auto fits = [&](ValueId v) { return !is_data(v) || can_block(type_of(v), block_); };
        const bool possible = std::all_of(node.inputs.begin(), node.inputs.end(), fits) &&
                              std::all_of(node.outputs.begin(), node.outputs.end(), fits);
        const Layout layout = wanted && possible ? blocked_ : Layout::plain;
        set_inputs(node, layout);
        set_outputs(node, layout);
        return;
      }
    }
  }

  // Activations over images: what a layout rule speaks of. Weights have layouts of their own.
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

  // `value` itself where it lies so already, else a reordered copy, made once.
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

  // A weight lies as the operator that reads it likes best; read by several that disagree, it stays plain.
  void choose_weight_layouts() {
    std::map<ValueId, Layout> wish;
    for (const Node& node : network_.nodes) {
      const Op& op = *find_op(node.op);
      const NodeView view(network_, node);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const ValueId input = node.inputs[i];
        if (!input.valid() || network_.values[input].kind != ValueKind::parameter) continue;
        const Layout layout = op.weight_layout ? op.weight_layout(view, i, block_) : Layout::plain;
        const auto [at, first] = wish.try_emplace(input, layout);
        if (!first && at->second != layout) at->second = Layout::plain;
      }
    }
    for (const auto& [value, layout] : wish) type_of(value).layout = layout;
  }

  TensorType& type_of(ValueId value) { return network_.values[value].type; }
  const TensorType& type_of(ValueId value) const { return network_.values[value].type; }

  Network& network_;
  const int block_;
  const Layout blocked_;
  std::map<std::pair<ValueId, Layout>, ValueId> copies_;
  std::map<ValueId, ValueId> origin_;
};

}  // namespace

void assign_layouts(Network& network, int block) {
  if (block == 0) return;
  PLIMSOLL_CHECK(block == 8 || block == 16, "channels are blocked by 8 or 16");
  LayoutAssigner(network, block).run();
}

}  // namespace plimsoll
