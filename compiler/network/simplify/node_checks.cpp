#include "compiler/network/simplify/node_checks.h"

#include <fmt/format.h>

#include "compiler/network/simplify/unsupported.h"
#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"

namespace plimsoll {

Status check_outputs(const ModelNode& source) {
  const Op* op = is_of_onnx(source) ? find_onnx_op(source.op) : nullptr;
  if (!op) return {};
  size_t count = source.outputs.size();
  while (count > 0 && source.outputs[count - 1].empty()) --count;
  if (count <= op->most_outputs) return {};
  return Error{ExitCode::invalid_model, fmt::format("{}: has {}, at most {} are allowed", describe(source),
                                                    counted(static_cast<int64_t>(count), "output"), op->most_outputs)};
}

Status check_inputs(const ModelNode& source, const Op& op) {
  if (source.inputs.size() < op.required_inputs)
    return Error{ExitCode::invalid_model,
                 fmt::format("{}: has {}, requires {}", describe(source),
                             counted(static_cast<int64_t>(source.inputs.size()), "input"), op.required_inputs)};
  for (size_t i = 0; i < op.required_inputs; ++i)
    if (source.inputs[i].empty())
      return Error{ExitCode::invalid_model, fmt::format("{}: input {} is missing", describe(source), i)};
  return {};
}

Status check_inputs(const Model& model, const GraphOrder& order) {
  for (const int index : order.nodes) {
    const ModelNode& node = model.nodes[static_cast<size_t>(index)];
    if (const Op* const op = is_of_onnx(node) ? find_onnx_op(node.op) : nullptr) PLIMSOLL_TRY(check_inputs(node, *op));
  }
  return {};
}

Status check_inputs_are_real(const NodeView& view, const Op& op) {
  if (op.moves_only || op.any_type) return {};
  for (size_t i = 0; i < view.input_count(); ++i)
    if (view.has_input(i) && view.input(i).kind != ValueKind::constant && view.input_type(i).type != DataType::f32 &&
        static_cast<int>(i) != op.whole_numbers)
      return view.unsupported(fmt::format("only f32 is supported, input {} is {}", i, to_string(view.input_type(i))));
  return {};
}

Status check_type(const NodeView& view, const TensorType& type, int64_t batch) {
  if (type.type != DataType::f32 && !find_op(view.node().op)->moves_only && !find_op(view.node().op)->any_type)
    return view.unsupported("only f32 is supported, the input is " + to_string(view.input_type(0)));
  if (type.rank() > kMaxRank)
    return view.unsupported(
        fmt::format("its output has {} dimensions; at most {} are supported", type.rank(), kMaxRank));
  int64_t count = batch;
  int of_samples = 0;
  for (const Dim dim : type.dims) {
    const auto product = checked_mul(count, dim.value);
    if (dim.value <= 0) return view.invalid(fmt::format("its output would be {}", to_string(type.dims)));
    if (!product || *product > kElementLimit)
      return view.invalid(fmt::format("its output {} has too many elements", to_string(type.dims)));
    count = *product;
    of_samples += dim.batch;
  }
  if (of_samples > 1)
    return view.unsupported(
        fmt::format("its output {} has the batch in more than one dimension", to_string(type.dims)));
  return {};
}

}  // namespace plimsoll
