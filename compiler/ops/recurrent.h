// What operators of recurrent networks have in common: all steps of one direction. The products of the inputs with W
// are in their input x, computed by a Gemm, for all steps at once.
//   RecurrentWeights {dx, states, h0, dr}: dr = Σ dxᵀ · previous state, accumulated if dr is an `update` operand
#pragma once

#include "compiler/ops/op.h"
#include "runtime/attrs/recurrent.h"

namespace plimsoll {

// x [T, N, G·H], r [G·H, H] and states [N, H], of `gates` gates. The types of all states [T, N, H], and of the last one
// once for each of `last`.
Result<std::vector<TensorType>> infer_recurrent(const NodeView& node, int64_t gates, size_t last);

RecurrentAttrs recurrent_attributes(const NodeView& node, int64_t gates);

// The states of all steps: output 0, or a tensor saved for backward if the model does not read it.
Operand write_states(TaskBuilder& build);
Operand read_states(TaskBuilder& build);
TensorType states_of_steps(const NodeView& node);
bool is_trained(const TaskBuilder& build);

// The gradient of x as an operand that the backward writes; it is also read for the gradient of r.
Operand write_gradient_of_x(TaskBuilder& build);
// Delivers dx, and adds the task of the gradient of r, if it is wanted. `slope`: of the products with r, [T, N, G·H].
void give_gradients(TaskBuilder& build, const RecurrentAttrs& attributes, const Operand& dx, const Operand& slope);

// x, r and, if given, the first states; `gates` has as many entries as the operator has gates.
Sample recurrent_sample(std::string name, std::vector<int64_t> gates, int64_t steps, int64_t size, size_t states,
                        int outputs, bool reverse = false);

}  // namespace plimsoll
