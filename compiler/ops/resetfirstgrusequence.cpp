// ResetFirstGruSequence: all steps of one direction of a GRU that resets before the product (linear_before_reset = 0),
// from the products of its inputs with W. In no model file: ONNX's GRU becomes it
// (network/simplify/spellings_recurrent.cpp).
//   ResetFirstGruForward  {x, r, h0, y, yh, gates}
//   ResetFirstGruBackward {r, h0, y, gates, dy, dyh, dx, reset_states, dh0}
//   x, gates, dx [T, N, 3H]; r [3H, H]; y, reset_states [T, N, H]; all others [N, H]
//
//   z, reset = σ(x + h' rᵀ)    n = tanh(x + (reset h') rᵀ)    h = n + z (h' - n)
//
// Both biases are in x. The gates after their activations take the bytes of x, and dx those of the gates. So a step
// saves 4 numbers for each element of the state, with the state itself. `reset_states` are reset h' of all steps, for
// the gradient of r: the backward computes them again, in the bytes of dy if these are free. The rows of r for n are
// the last, so that two products can read the parameter of the file. An absent h0 is zero.
#include "compiler/ops/recurrent.h"

namespace plimsoll {
namespace resetfirstgrusequence {

constexpr int64_t kGates = 3;

Result<std::vector<TensorType>> infer(const NodeView& node) {
  PLIMSOLL_ASSIGN(std::vector<TensorType> types, infer_recurrent(node, kGates, 1));
  if (recurrent_attributes(node, kGates).gates[2] != 2) return node.invalid("its gate n is not the last");
  return types;
}

Affine flops(const NodeView& node, int64_t per_element) {
  return flops_per_element(node.input_type(0), 2 * node.input_type(1).dims[1].value + per_element);
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const bool trained = is_trained(build);
  build.task({.kernel = "ResetFirstGruForward",
              .attributes = to_attributes(recurrent_attributes(node, kGates)),
              .operands = {build.read_input(0), build.read_input(1), build.read_input(2), write_states(build, trained),
                           build.write_output(1), trained ? build.write_stash("gates", node.input_type(0)) : Operand{}},
              .in_place = {{0, 5}},
              .flops = flops(node, 30)});
}

void backward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const RecurrentAttrs attributes = recurrent_attributes(node, kGates);
  const Operand dx = write_gradient_of_x(build);
  const Operand reset_states =
      build.wants_gradient(1) ? build.write_scratch("reset_states", states_of_steps(node)) : Operand{};
  build.task({.kernel = "ResetFirstGruBackward",
              .kind = TaskKind::backward_data,
              .attributes = to_attributes(attributes),
              .operands = {build.read_input(1), build.read_input(2), read_states(build), build.read_stash("gates"),
                           build.read_gradient(0), build.read_gradient(1), dx, reset_states, build.write_gradient(2)},
              .in_place = {{3, 6}, {4, 7}},
              .flops = flops(node, 15)});
  give_gradient_of_x(build, dx);
  give_gradient_of_r(build, attributes, dx, reset_states);
}

std::vector<Sample> samples() {
  return {recurrent_sample("plain", {0, 1, 2}, 3, 4, 0, 1), recurrent_sample("gates_of_torch", {1, 0, 2}, 4, 5, 1, 2),
          recurrent_sample("reverse", {0, 1, 2}, 3, 3, 1, 2, true), recurrent_sample("one_step", {0, 1, 2}, 1, 4, 0, 2),
          recurrent_sample("one_step_of_given_state", {0, 1, 2}, 1, 3, 1, 2),
          recurrent_sample("zero_state", {1, 0, 2}, 2, 17, 0, 1),
          // the host copies the slopes of 256 samples at a time
          recurrent_sample("many_steps", {0, 1, 2}, 70, 2, 1, 2)};
}

}  // namespace resetfirstgrusequence

const Op op_ResetFirstGruSequence{.name = "ResetFirstGruSequence",
                                  .last_opset = 0,
                                  .inputs = {Slot::data, Slot::weight, Slot::data},
                                  .required_inputs = 2,
                                  .most_outputs = 2,
                                  .axes = AxesRule::changed,
                                  .infer = resetfirstgrusequence::infer,
                                  .forward = resetfirstgrusequence::forward,
                                  .backward = resetfirstgrusequence::backward,
                                  .precision = PrecisionRule::single,
                                  .samples = resetfirstgrusequence::samples};

}  // namespace plimsoll
