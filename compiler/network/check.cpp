#include "compiler/network/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

Status check_marks(const NodeView& view, const Op& op) {
  const NodeMarks& marks = view.node().marks;
  if (marks.activation != FusedActivation::none && (!op.absorbs || !op.absorbs(view, marks.activation)))
    return view.invalid(fmt::format("no kernel of this operator applies {} to its output", name_of(marks.activation)));
  const NodeMarks& of_op = op.marks;
  const bool known = marks.classes_last <= of_op.classes_last && marks.transposed_a <= of_op.transposed_a &&
                     marks.transposed_b <= of_op.transposed_b && marks.detached <= of_op.detached &&
                     marks.frozen_statistics <= of_op.frozen_statistics && marks.label_smoothing >= 0 &&
                     marks.label_smoothing <= of_op.label_smoothing &&
                     is_narrow(marks.factors) <= is_narrow(of_op.factors) &&
                     marks.padding_index.has_value() <= of_op.padding_index.has_value();
  return known ? Status() : view.invalid("it has a mark that its operator does not support");
}

// What the compiler determines is a mark. An attribute that the operator does not have would be ignored.
Status check_attributes_of(const NodeView& view, const Op& op) {
  if (!op.of_onnx()) return {};
  for (const auto& [name, value] : view.node().attributes)
    if (!has_attribute(op, name)) return view.invalid(fmt::format("its operator has no attribute '{}'", name));
  return {};
}

// Leading inputs without which `infer` cannot read the node. A node that the import writes may omit some that ONNX
// requires (the scale of a LayerNormalization); a sample of the operator shows that.
size_t needed_inputs(const Op& op) {
  const auto omitted = [](const SampleInput& input) {
    return input.kind == ValueKind::constant && input.dims.empty() && input.constant.empty();
  };
  size_t needed = op.required_inputs;
  for (const Sample& sample : op.samples()) {
    const auto first = std::find_if(sample.inputs.begin(), sample.inputs.end(), omitted);
    needed = std::min(needed, static_cast<size_t>(first - sample.inputs.begin()));
  }
  return needed;
}

Status check_inputs(const NodeView& view, const Op& op) {
  if (op.of_onnx() && (view.opset() < op.first_opset || view.opset() > op.last_opset))
    return view.invalid(
        fmt::format("supported in opsets {} to {}, not in {}", op.first_opset, op.last_opset, view.opset()));
  for (size_t i = 0, needed = needed_inputs(op); i < needed; ++i)
    if (!view.has_input(i)) return view.invalid(fmt::format("input {} is missing", i));
  if (op.addend >= 0 && view.input_count() > static_cast<size_t>(op.addend) + 1) return view.invalid("too many inputs");
  if (op.moves_only || op.any_type) return {};
  for (size_t i = 0; i < view.input_count(); ++i)
    if (view.has_input(i) && view.input(i).kind != ValueKind::constant && view.input_type(i).type != DataType::f32 &&
        static_cast<int>(i) != op.whole_numbers)
      return view.unsupported(fmt::format("only f32 is supported, input {} is {}", i, to_string(view.input_type(i))));
  return {};
}

// The requirements of the task graph.
Status check_end(const Network& network) {
  const auto invalid = [&](const char* what) {
    return Error{ExitCode::invalid_model, fmt::format("network '{}': {}", network.name, what)};
  };
  if (network.nodes.empty() || network.outputs.empty()) return invalid("it has no nodes or no outputs");
  if (network.stage == NetworkStage::imported) return {};
  const Node& last = network.nodes.back();
  if (last.outputs[0] != network.outputs[0] ||
      network.values[last.outputs[0]].type != TensorType{DataType::f32, {{1}}} || last.inputs.empty() ||
      !last.inputs[0].valid())
    return invalid("it does not end in a loss: the last node must produce the first output, a single number");
  return {};
}

}  // namespace

Status check_network(const Network& network) {
  for (const Node& node : network.nodes) {
    const NodeView view(network, node);
    const Op* op = find_op(node.op);
    if (!op) return view.unsupported("unknown operator");
    // ONNX's operators always make their first output. Plimsoll's own make those that are read.
    const bool makes_some =
        std::any_of(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id.valid(); });
    if (!view.has_output(0) && (op->of_onnx() || !makes_some)) return view.invalid("it has no output");
    PLIMSOLL_TRY(check_inputs(view, *op));
    PLIMSOLL_TRY(check_marks(view, *op));
    PLIMSOLL_TRY(check_attributes_of(view, *op));
    PLIMSOLL_ASSIGN(const std::vector<TensorType> types, op->infer(view));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!view.has_output(i)) continue;
      if (i >= types.size()) return view.unsupported(fmt::format("output {} is not supported", i));
      const TensorType& said = view.output_type(i);
      // The loss at the end of a network is one number: [1] here, where a model that computes its own loss has [].
      const bool a_number = said.dims == Dims{{1}} && types[i].dims.empty();
      if (said.type != types[i].type || (said.dims != types[i].dims && !a_number))
        return view.invalid(fmt::format("its output {} is {}; expected {}", i, to_string(said), to_string(types[i])));
    }
  }
  return check_end(network);
}

}  // namespace plimsoll
