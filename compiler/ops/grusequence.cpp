// GruSequence: all steps of one direction of a GRU that resets after the product (linear_before_reset = 1), from the
// products of its inputs with W. In no model file: ONNX's GRU becomes it (network/simplify/spellings_recurrent.cpp).
//   GruForward  {x, r, h0, b, y, yh, gates, recurrent}
//   GruBackward {r, h0, y, gates, recurrent, dy, dyh, slopes, fresh_slopes, dh0}
//   GruInputs   {slopes, fresh_slopes, dx}
//   x, gates, slopes, dx [T, N, 3H]; r [3H, H]; b [3H]; y, recurrent, fresh_slopes [T, N, H]; all others [N, H]
//
//   s = h' rᵀ + b    z, reset = σ(x + s)    n = tanh(x + reset s)    h = n + z (h' - n)
//
// `recurrent` is s of the gate n. The gates after their activations take the bytes of x. The backward writes the
// gradients of s in the bytes of the gates: they are those of x but for the gate n, whose gradients for x it writes in
// the bytes of `recurrent`. GruInputs puts these into their place when the gradients of r and b have been computed.
// An absent h0 or b is zero.
#include <fmt/format.h>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/recurrent.h"

namespace plimsoll {
namespace grusequence {

constexpr int64_t kGates = 3;
constexpr size_t kBias = 3;

Result<std::vector<TensorType>> infer(const NodeView& node) {
  PLIMSOLL_ASSIGN(std::vector<TensorType> types, infer_recurrent(node, kGates, 1));
  const TensorType bias{DataType::f32, {node.input_type(1).dims[0]}};
  if (node.has_input(kBias) && node.input_type(kBias) != bias)
    return node.invalid(fmt::format("its bias is {}, expected {}", to_string(node.input_type(kBias)), to_string(bias)));
  return types;
}

Affine flops(const NodeView& node, int64_t per_element) {
  return flops_per_element(node.input_type(0), 2 * node.input_type(1).dims[1].value + per_element);
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const bool trained = is_trained(build);
  build.task({.kernel = "GruForward",
              .attributes = to_attributes(recurrent_attributes(node, kGates)),
              .operands = {build.read_input(0), build.read_input(1), build.read_input(2), build.read_input(kBias),
                           write_states(build, trained), build.write_output(1),
                           trained ? build.write_stash("gates", node.input_type(0)) : Operand{},
                           trained ? build.write_stash("recurrent", states_of_steps(node)) : Operand{}},
              .in_place = {{0, 6}},
              .flops = flops(node, 30)});
}

void backward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const RecurrentAttrs attributes = recurrent_attributes(node, kGates);
  const TensorType& x = node.input_type(0);
  const bool of_x = build.wants_gradient(0);
  const Operand slopes = build.write_scratch("slopes", x),
                fresh = of_x ? build.write_scratch("fresh_slopes", states_of_steps(node)) : Operand{};
  build.task({.kernel = "GruBackward",
              .kind = TaskKind::backward_data,
              .attributes = to_attributes(attributes),
              .operands = {build.read_input(1), build.read_input(2), read_states(build), build.read_stash("gates"),
                           build.read_stash("recurrent"), build.read_gradient(0), build.read_gradient(1), slopes, fresh,
                           build.write_gradient(2)},
              .in_place = {{3, 7}, {4, 8}},
              .flops = flops(node, 15)});
  give_gradient_of_r(build, attributes, slopes);
  give_summed_gradient(build, kBias, as_read(slopes));
  if (!of_x) return;
  const Operand dx = write_gradient_of_x(build);
  build.task({.kernel = "GruInputs",
              .kind = TaskKind::backward_data,
              .attributes = to_attributes(attributes),
              .operands = {as_read(slopes), as_read(fresh), dx},
              .in_place = {{0, 2}}});
  give_gradient_of_x(build, dx);
}

// With the bias, which is the input behind the state.
Sample biased(Sample sample, int64_t size) {
  if (sample.inputs.size() == 2) sample.inputs.push_back({.kind = ValueKind::constant});
  sample.inputs.push_back({.dims = {{kGates * size}}, .kind = ValueKind::parameter});
  return sample;
}

std::vector<Sample> samples() {
  return {recurrent_sample("plain", {0, 1, 2}, 3, 4, 0, 1),
          biased(recurrent_sample("gates_of_torch", {1, 0, 2}, 4, 5, 1, 2), 5),
          biased(recurrent_sample("reverse", {0, 1, 2}, 3, 3, 1, 2, true), 3),
          biased(recurrent_sample("one_step", {0, 1, 2}, 1, 4, 0, 2), 4),
          recurrent_sample("one_step_of_given_state", {0, 1, 2}, 1, 3, 1, 2),
          biased(recurrent_sample("zero_state", {1, 0, 2}, 2, 17, 0, 1), 17)};
}

}  // namespace grusequence

const Op op_GruSequence{.name = "GruSequence",
                        .last_opset = 0,
                        .inputs = {Slot::data, Slot::weight, Slot::data, Slot::bias},
                        .required_inputs = 2,
                        .most_outputs = 2,
                        .axes = AxesRule::changed,
                        .infer = grusequence::infer,
                        .forward = grusequence::forward,
                        .backward = grusequence::backward,
                        .precision = PrecisionRule::single,
                        .samples = grusequence::samples};

}  // namespace plimsoll
