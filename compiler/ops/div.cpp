// Div with broadcasting: y = a / b.   BinaryDiv {a, b, y}   ProductSum {dy / b, y, db}
//   da = dy / b          reads b
//   db = -(dy / b) · y   reads y instead of a, and reuses dy / b
#include "compiler/ops/binary.h"
#include "compiler/ops/evaluate_elements.h"

namespace plimsoll {
namespace div {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  PLIMSOLL_ASSIGN(auto types, infer_binary(node));
  if (number_at(node, 0)) return node.unsupported("a constant divided by a tensor has no kernel");
  if (const auto b = number_at(node, 1); b && *b == 0) return node.invalid("divides by the constant 0");
  return types;
}

void forward(TaskBuilder& build) {
  if (const auto b = number_at(build.node(), 1)) return forward_scaled(build, 1 / *b, 0);
  forward_binary(build, "BinaryDiv");
}

void backward(TaskBuilder& build) {
  const NodeView& node = build.node();
  if (const auto b = number_at(node, 1)) return give_scaled_gradient(build, 1 / *b);
  const TensorType& y = node.output_type(0);
  // The quotient is itself the gradient of `a`, unless it has to be summed, or added to the gradient from another node.
  const bool direct = build.wants_gradient(0) && node.input_type(0).dims == y.dims &&
                      node.input(0).kind != ValueKind::parameter;
  const Operand quotient = direct ? build.write_gradient(0) : build.write_scratch("quotient", y);
  build.task({.kernel = "BinaryDiv",
              .kind = TaskKind::backward_data,
              .operands = {build.read_gradient(0), build.read_input(1), quotient},
              .in_place = {{0, 2}},
              .flops = flops_per_element(y, 1)});
  if (!direct) give_summed_gradient(build, 0, quotient);
  if (!build.wants_gradient(1)) return;
  build.task({.kernel = "ProductSum",
              .kind = node.input(1).kind == ValueKind::parameter ? TaskKind::backward_weights : TaskKind::backward_data,
              .attributes = to_attributes(ScaleAttrs{.scale = -1}),
              .operands = {as_read(quotient), build.read_output(0), build.write_gradient(1)},
              .flops = flops_per_element(y, 2)});
}

}  // namespace div

const Op op_Div{.name = "Div",
                .first_opset = 7,
                .inputs = {Slot::data, Slot::number},
                .required_inputs = 2,
                .samples_rule = SamplesRule::broadcast,
                .evaluate = [](const KnownCall& call) {
                  return evaluate_binary(call.inputs, {.ints = symbolic::divide,
                                                       .reals = [](double a, double b) { return a / b; }});
                },
                .infer = div::infer,
                .forward = div::forward,
                .backward = div::backward,
                .any_type = true,
                .layout_of = binary_layout,
                .adds_up = [](const NodeView&, const std::vector<bool>& sums) { return sums[0] && !sums[1]; },
                .samples = [] {
                  auto samples = binary_samples(0.5, 2);
                  samples.pop_back();  // a constant dividend has no kernel
                  return samples;
                }};

}  // namespace plimsoll
