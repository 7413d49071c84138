#include "compiler/network/linear_cross_entropy.h"

#include <optional>

#include "compiler/network/prune.h"
#include "compiler/network/value_uses.h"
#include "compiler/ops/op.h"
#include "compiler/ops/reshaping.h"

namespace plimsoll {
namespace {

constexpr int64_t kLeastLogits = 1 << 16;  // of a sample

struct Linear {
  NodeId product = {};
  ValueId x = {}, weight = {}, bias = {};  // no bias: invalid
  bool transposed = false;                 // the weight is [classes, inner]
};

class Finder {
 public:
  explicit Finder(const Network& network) : network_(network), uses_(network) {}

  // The linear layer that computes these logits, if nothing else reads them on the way.
  std::optional<Linear> of(ValueId logits) const {
    const int64_t classes = network_.values[logits].type.dims.back().value;
    std::optional<NodeId> id = sole_maker(logits);
    while (id && keeps_classes(*id, classes)) id = sole_maker(node(*id).inputs[0]);
    if (!id) return std::nullopt;
    ValueId bias;
    if (node(*id).op == "Add") {
      const std::vector<ValueId>& terms = node(*id).inputs;
      const size_t other = is_row(terms[0], classes) ? 0 : 1;
      bias = terms[other];
      id = sole_maker(terms[1 - other]);
      if (!id || !is_row(bias, classes)) return std::nullopt;
    }
    std::optional<Linear> found = product_of_rows(*id, classes);
    if (!found || (bias.valid() && found->bias.valid())) return std::nullopt;
    if (bias.valid()) found->bias = bias;
    return found;
  }

 private:
  const Node& node(NodeId id) const { return network_.nodes[id]; }

  std::optional<NodeId> sole_maker(ValueId value) const {
    const NodeId maker = uses_.maker[value];
    return maker.valid() && uses_.readers[value] == 1 && node(maker).outputs[0] == value ? std::optional(maker)
                                                                                         : std::nullopt;
  }

  // Other dimensions of the same elements.
  bool keeps_classes(NodeId id, int64_t classes) const {
    const Node& alias = node(id);
    if (find_op(alias.op)->forward != forward_alias || alias.marks != NodeMarks{}) return false;
    const Dims& dims = network_.values[alias.inputs[0]].type.dims;
    return !dims.empty() && dims.back() == Dim{classes};
  }

  bool is_row(ValueId id, int64_t classes) const {
    const Value& value = network_.values[id];
    return value.kind == ValueKind::parameter && value.type == TensorType{DataType::f32, {{classes}}};
  }

  std::optional<Linear> product_of_rows(NodeId id, int64_t classes) const {
    const NodeView view(network_, node(id));
    const bool gemm = view.node().op == "Gemm";
    const NodeMarks& marks = view.node().marks;
    if ((!gemm && view.node().op != "MatMul") || marks.activation != FusedActivation::none || marks.transposed_a)
      return std::nullopt;
    if (gemm && (view.real("alpha", 1) != 1 || view.real("beta", 1) != 1 || view.integer("transA", 0) != 0))
      return std::nullopt;
    const bool transposed = gemm ? view.integer("transB", 0) != 0 : view.node().marks.transposed_b;
    const TensorType &x = view.input_type(0), &weight = view.input_type(1);
    if (x.rank() < 2 || weight.rank() != 2 || view.input(0).kind == ValueKind::constant ||
        view.input(1).kind != ValueKind::parameter || x.dims.back().batch || x.dims.back().value >= classes ||
        weight.dims[transposed ? 0 : 1] != Dim{classes})
      return std::nullopt;
    Linear linear{.product = id, .x = view.node().inputs[0], .weight = view.node().inputs[1], .transposed = transposed};
    if (!view.has_input(2)) return linear;
    if (!is_row(view.node().inputs[2], classes)) return std::nullopt;
    linear.bias = view.node().inputs[2];
    return linear;
  }

  const Network& network_;
  const ValueUses uses_;
};

// The loss of the network, whose classes are the last axis of its scores.
bool is_last_loss(const Network& network, const Node& loss) {
  if (loss.op != "SoftmaxCrossEntropyLoss" || network.outputs.empty() || network.outputs[0] != loss.outputs[0])
    return false;
  const NodeView view(network, loss);
  return view.text("reduction", "mean") != "none" && (loss.marks.classes_last || view.input_type(0).rank() == 2);
}

}  // namespace

bool may_fuse_linear_cross_entropy(const Network& network) {
  if (network.nodes.empty() || !is_last_loss(network, network.nodes.back())) return false;
  return network.values[network.nodes.back().inputs[0]].type.elements().per_sample >= kLeastLogits;
}

bool fuse_linear_cross_entropy(Network& network) {
  if (!may_fuse_linear_cross_entropy(network)) return false;
  Node& loss = network.nodes.back();
  const std::optional<Linear> linear = Finder(network).of(loss.inputs[0]);
  if (!linear) return false;
  const Node& product = network.nodes[linear->product];
  const ValueId class_weights = loss.inputs.size() > 2 ? loss.inputs[2] : ValueId();
  loss.op = "LinearCrossEntropyLoss";
  loss.opset = 1;
  loss.inputs = {linear->x, loss.inputs[1], class_weights, linear->weight, linear->bias};
  loss.marks = {.label_smoothing = loss.marks.label_smoothing, .transposed_b = linear->transposed};
  loss.name = product.name;
  loss.module_path = product.module_path;
  prune_dead_nodes(network);
  return true;
}

}  // namespace plimsoll
