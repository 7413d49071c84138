// LstmSequence: all steps of one direction of an LSTM, from the products of its inputs with W. In no model file: ONNX's
// LSTM becomes it (network/simplify/spellings_recurrent.cpp).
//   LstmForward  {x, r, h0, c0, y, yh, yc, gates, cells}
//   LstmBackward {r, c0, gates, cells, dy, dyh, dyc, dx, dh0, dc0}
//   x, gates, dx [T, N, 4H]; r [4H, H]; y, cells [T, N, H]; all others [N, H]
//
//   i, o, f = σ(x + h' rᵀ)    g = tanh(x + h' rᵀ)    c = f c' + i g    h = o tanh c
//
// The gates after their activations take the bytes of x, and dx those of the gates. The backward computes tanh c again.
// An absent h0 or c0 is zero.
#include "compiler/ops/recurrent.h"

namespace plimsoll {
namespace lstmsequence {

constexpr int64_t kGates = 4;

Result<std::vector<TensorType>> infer(const NodeView& node) { return infer_recurrent(node, kGates, 2); }

Affine flops(const NodeView& node, int64_t per_element) {
  return flops_per_element(node.input_type(0), 2 * node.input_type(1).dims[1].value + per_element);
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const bool trained = is_trained(build);
  build.task({.kernel = "LstmForward",
              .attributes = to_attributes(recurrent_attributes(node, kGates)),
              .operands = {build.read_input(0), build.read_input(1), build.read_input(2), build.read_input(3),
                           write_states(build, build.wants_gradient(1)), build.write_output(1), build.write_output(2),
                           trained ? build.write_stash("gates", node.input_type(0)) : Operand{},
                           trained ? build.write_stash("cells", states_of_steps(node)) : Operand{}},
              .in_place = {{0, 7}},
              .flops = flops(node, 30)});
}

void backward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const RecurrentAttrs attributes = recurrent_attributes(node, kGates);
  const Operand dx = write_gradient_of_x(build);
  build.task({.kernel = "LstmBackward",
              .kind = TaskKind::backward_data,
              .attributes = to_attributes(attributes),
              .operands = {build.read_input(1), build.read_input(3), build.read_stash("gates"),
                           build.read_stash("cells"), build.read_gradient(0), build.read_gradient(1),
                           build.read_gradient(2), dx, build.write_gradient(2), build.write_gradient(3)},
              .in_place = {{2, 7}},
              .flops = flops(node, 15)});
  give_gradient_of_x(build, dx);
  give_gradient_of_r(build, attributes, dx);
}

std::vector<Sample> samples() {
  return {recurrent_sample("plain", {0, 1, 2, 3}, 3, 4, 0, 1),
          recurrent_sample("gates_of_torch", {0, 3, 1, 2}, 4, 5, 2, 3),
          recurrent_sample("reverse", {0, 1, 2, 3}, 3, 3, 2, 3, true),
          recurrent_sample("one_step", {0, 1, 2, 3}, 1, 4, 0, 3),
          recurrent_sample("one_step_of_given_states", {0, 1, 2, 3}, 1, 3, 2, 2),
          recurrent_sample("given_state", {0, 1, 2, 3}, 2, 17, 1, 2)};
}

}  // namespace lstmsequence

const Op op_LstmSequence{.name = "LstmSequence",
                         .last_opset = 0,
                         .inputs = {Slot::data, Slot::weight, Slot::data, Slot::data},
                         .required_inputs = 2,
                         .most_outputs = 3,
                         .axes = AxesRule::changed,
                         .infer = lstmsequence::infer,
                         .forward = lstmsequence::forward,
                         .backward = lstmsequence::backward,
                         .precision = PrecisionRule::single,
                         .samples = lstmsequence::samples};

}  // namespace plimsoll
